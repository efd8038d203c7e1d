// The live page: frames from the server's events, shown as they come or replayed.
"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const MOST_LETTERS = 64e6, MOST_ROWS = 80, MOST_LOG = 20000, LOG_ROWS = 100, MOST_LINKS = 24, MOST_HELD = 8, MOST_SPELLS = 3, MOST_RANGES = 4;
  const PLOT_HIGH = 150; // px
  const WIDE = 1000; // of a drawing that has the window's width
  const HEAT_EVERY_MS = 500; // while frames come
  const LONG = 0.1; // of the longest queue of a switch
  const FULL = 0.98; // of a link, or of what a flow may send
  const SPEEDS = [1, 2, 5, 10, 20, 60];
  const IDLE = { queue_packets: 0, queue_bytes: 0, pn: 0, paused: false, pausing: false, rate_bps: 0, utilisation: 0, marked_share: null,
    marked_ue_share: null, pauses_sent_per_s: 0, pauses_received_per_s: 0, up: true, lost: 0, kept_pace: true };
  // Columns that are there once a frame has a value, of which field
  const RARE = { pn: "pn", lost: "lost", window_bytes: "window_bytes", in_flight_bytes: "window_bytes" };
  const MAY_LACK = ["queue_bytes", "queue_packets", "pn", "lost"];
  const BY_NUMBER = new Intl.Collator("en", { numeric: true });
  const state = { unknown: {}, had: new Set(), hosts: new Map(), network: null, frames: [], letters: 0, at: -1, follow: true, timer: null, last: 0, chosen: null, drawing: null, dirty: false, plots: [], over: "", opened: -1,
    entries: [], heat: null, stale: true, painted: 0, sort: { ports: ["queue_bytes", -1], flows: [null, 1] }, nodes: new Map(), shown: "" };

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  };
  // Numbers have thousands separated, and as many digits as the others of their column
  const formats = [0, 1, 2, 3].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  const fixed = (value, factor, digits) => (value === null || value === undefined ? "–" : formats[digits].format(value / factor));
  const rate = (value, digits) => fixed(value, state.network.rate_unit === "Mbit/s" ? 1e6 : 1e9, digits);
  const ms = (time_s) => `${fixed(time_s, 1e-3, 3)} ms`;
  const share = (value, digits = 1) => (value === null || value === undefined ? "–" : `${(value * 100).toFixed(digits)}%`);

  const PORT_COLUMNS = [
    ["", "paused", (one) => (!one.up ? "DOWN" : one.paused ? "PAUSED" : one.pausing ? `pauses ${nodeOf(state.peers.get(one.port))}` : "") + (one.kept_pace ? "" : " late")],
    ["queue KB", "queue_bytes", (one) => fixed(one.queue_bytes, 1e3, 1)],
    ["packets", "queue_packets", (one) => fixed(one.queue_packets, 1, 0)],
    ["PAUSE-delayed packets", "pn", (one) => fixed(one.pn, 1, 0)],
    ["PAUSE out/ms", "pauses_sent_per_s", (one) => fixed(one.pauses_sent_per_s, 1e3, 2)],
    ["PAUSE in/ms", "pauses_received_per_s", (one) => fixed(one.pauses_received_per_s, 1e3, 2)],
    ["marked", "marked_share", (one) => share(one.marked_share)],
    ["sends RATE", "rate_bps", (one) => rate(one.rate_bps, 2)],
    ["of link", "utilisation", (one) => share(one.utilisation)],
    ["lost", "lost", (one) => fixed(one.lost, 1, 0)],
  ];
  // Of any P4 network: there is no PAUSE, and its rows of flows are what hosts send and receive
  const OF_SCHEMES = ["pn", "pauses_sent_per_s", "pauses_received_per_s", "marked_share", "window_bytes", "in_flight_bytes", "src", "dst"];
  const columnsOf = (columns) => columns.filter(([title, field]) => !(state.network.scheme ? ["queue_packets"] : OF_SCHEMES).includes(field) && allowed(title) && (!RARE[field] || state.had.has(RARE[field])));
  // What a scheme lets a flow send, where there is none
  const allowed = (title) => state.network.scheme || !title.startsWith("may send");
  const FLOW_COLUMNS = [
    ["from", "src", (one) => (one.src_port == null ? one.src : `${one.src}:${one.src_port}`)],
    ["to", "dst", (one) => one.dst],
    ["state", "state", (one) => one.state + (one.kept_pace ? "" : ", late")],
    ["sends RATE", "sent_bps", (one) => rate(one.sent_bps, 3)],
    ["may send RATE", "rate_bps", (one) => rate(one.rate_bps, 3)],
    ["window KB", "window_bytes", (one) => fixed(one.window_bytes, 1e3, 1)],
    ["in flight KB", "in_flight_bytes", (one) => (one.window_bytes === null ? "–" : fixed(one.in_flight_bytes, 1e3, 1))],
    ["goodput RATE", "goodput_bps", (one) => rate(one.goodput_bps, 3)],
    ["marked", "marked_share", (one) => share(one.marked_share)],
  ];
  // What a heading can't say, by field
  const MEANINGS = { pn: "packets in the queue that a PAUSE delayed, which NP-ECN leaves unmarked" };
  const CHARTS = {
    port: [["RATE", [["sends", "rate_bps", 1, "--first"]]], ["KB", [["queue", "queue_bytes", 1e3, "--second"]]],
      ["packets", [["queue", "queue_packets", 1, "--second"]], "queue_bytes"],
      ["1/ms", [["PAUSE received", "pauses_received_per_s", 1e3, "--second"], ["PAUSE sent", "pauses_sent_per_s", 1e3, "--third"]]]],
    flow: [["RATE", [["sends", "sent_bps", 1, "--first"], ["may send", "rate_bps", 1, "--second"], ["goodput", "goodput_bps", 1, "--third"]]], ["KB", [["window", "window_bytes", 1e3, "--second"]]]],
  };

  // ---- frames ----

  const begin = (network) => {
    Object.assign(state, { network, unknown: {}, had: new Set(), frames: [], letters: 0, at: -1, follow: true, chosen: null, over: "", opened: -1, entries: [], stale: true, shown: "" });
    const hosts = new Set(network.hosts);
    // Hosts' ports by the switch's ports that they are at
    state.hosts = new Map(network.ports.filter((one) => hosts.has(one.peer.split(":")[0])).map((one) => [one.port, one.peer]));
    document.title = `${network.name} – PCN Lab`;
    find("title").textContent = network.title;
    state.nodes = neighbours(network);
    state.peers = new Map(network.ports.flatMap((one) => [[one.port, one.peer], [one.peer, one.port]]));
    state.spelled = new Map([...state.nodes.keys()].map((name) => [name.toLowerCase(), name]));
    state.groups = new Map(Object.entries(network.members || {}));
    state.members = new Map([...state.groups.values()].flatMap(({ flows }) => flows.map((values) => [String(values[0]), memberOf(values)])));
    delete find("state").dataset.over;
    state.sort.ports = [network.scheme ? "queue_bytes" : "queue_packets", -1];
    state.drawing = new Drawing(find("network"), network, choose);
    document.querySelector("main").classList.toggle("wide", state.drawing.whole.width > WIDE);
    state.heat = new Heat(find("heat"), find("heat-note"), (port, at) => {
      stop();
      go(at);
      choose(...(state.drawing.rates.has(port) ? ["port", port] : ["node", port.split(":")[0]]));
    });
    for (const option of find("heat-of").options) option.hidden = option.disabled = option.value === "pause" && !network.scheme;
    legend(network.steps);
    find("log").replaceChildren();
    find("command").hidden = !network.control;
    find("words").placeholder = network.scheme ? "pause s1 3 --for 1ms" : "link s1 s2 down";
    find("flows-title").textContent = network.scheme ? "Flows" : "Hosts";
    for (const table of [find("ports"), find("flows"), find("facts-table")]) { table.deleteTHead(); table.replaceChildren(); }
    choose(null);
    find("state").textContent = network.live ? "live" : "running";
  };

  const add = (frame, letters) => {
    frame.letters = letters;
    for (const one of frame.ports) for (const field of MAY_LACK) if (one[field] === null) state.unknown[field] = null;
    for (const one of [...frame.ports, ...frame.flows]) for (const field in RARE) if (one[field] !== null && one[field] !== undefined) state.had.add(field);
    frame.by_port = new Map(frame.ports.map((one) => [one.port, one]));
    frame.by_host = new Map(frame.hosts.map((one) => [one.port, one]));
    frame.held = heldEnds(frame, state.frames[state.frames.length - 1], state.frames[state.frames.length - 2]);
    frame.waits = frame.ports.reduce((sum, one) => sum + (one.queue_bytes ?? one.queue_packets ?? 0), 0);
    state.frames.push(frame);
    state.letters += letters;
    while (state.letters > MOST_LETTERS && state.frames.length > 1) {
      state.letters -= state.frames.shift().letters;
      state.at = Math.max(state.at - 1, 0);
    }
    state.drawing.seen(frame.ports);
    state.stale = true;
    log(frame, state.frames[state.frames.length - 2]);
    if (state.follow) state.at = state.frames.length - 1;
    redraw();
  };

  // Ends that may not send, as the drawing has them: a switch's port by its own word, a host by that of its switch. Of each
  // since when, and since when without a break; a break of a single sample counts, and begins nothing new: PAUSE and RESUME
  // take turns faster than samples. Frames share what goes on, and each end is read once a frame, so that a step is cheap.
  const heldEnds = (frame, before, earlier) => {
    const ends = frame.ports.flatMap((one) => [...(one.paused ? [one.port] : []), ...(one.pausing && state.hosts.has(one.port) ? [state.hosts.get(one.port)] : [])]);
    return new Map(ends.map((end) => {
      const goes = before?.held.get(end), went = earlier?.held.get(end), now = frame.time_s;
      return [end, goes || (went ? { ...went, steady_s: now, breaks: went.breaks + 1 } : { since_s: now, steady_s: now, breaks: 0, before: !before })];
    }));
  };

  // A port that does nothing isn't in a frame; what the network doesn't count isn't 0 there either
  const portAt = (frame, name) => frame.by_port.get(name) || { ...IDLE, ...state.unknown, port: name };
  const flowAt = (frame, id) => frame.flows.find((one) => String(one.id) === id);

  // ---- log: what the programs wrote, and what changed since the frame before ----

  const log = (frame, before) => {
    const lines = [...(frame.log || [])], when = ms(frame.time_s);
    if (before) {
      for (const name of new Set([...before.by_port.keys(), ...frame.by_port.keys()])) {
        const now = portAt(frame, name), then = portAt(before, name);
        const host = state.hosts.get(name);
        if (host && now.pausing !== then.pausing) lines.push(`${when}  ${endName(host)} ${now.pausing ? "is paused" : "may send again"}`);
        if (now.paused !== then.paused) lines.push(`${when}  ${name} ${now.paused ? "is paused" : "may send again"}`);
        if (now.up !== then.up) lines.push(`${when}  ${name} is ${now.up ? "up" : "DOWN"}`);
        if (now.lost > then.lost && then.lost !== null) lines.push(`${when}  ${name} lost ${now.lost - then.lost} frames`);
      }
      const states = new Map(before.flows.map((one) => [one.id, one.state]));
      for (const one of frame.flows) if (states.get(one.id) !== one.state) lines.push(`${when}  flow ${one.id}: ${one.state}`);
    }
    for (const text of lines) state.entries.push({ time_s: frame.time_s, text });
    if (state.entries.length > MOST_LOG) state.entries.splice(0, state.entries.length - MOST_LOG);
  };

  // The last lines until the shown moment; a click on one goes to its own. Returns how many there are before them
  const showLog = (frame) => {
    const { entries } = state, list = find("log");
    let end = 0;
    for (let low = 0, high = entries.length; low < high;) {
      end = (low + high) >> 1;
      if (entries[end].time_s <= frame.time_s) low = ++end;
      else high = end;
    }
    const wanted = new Set(entries.slice(Math.max(end - LOG_ROWS, 0), end));
    for (const line of [...list.children]) if (!wanted.has(line.entry)) line.remove();
    const there = new Map([...list.children].map((line) => [line.entry, line]));
    let changed = false, place = 0;
    for (const entry of wanted) {
      let line = there.get(entry);
      if (!line) {
        line = element("li");
        line.entry = entry;
        const button = element("button", entry.text, { type: "button" });
        button.addEventListener("click", () => { stop(); go(state.frames.findIndex((one) => one.time_s >= entry.time_s)); });
        line.appendChild(button);
      }
      if (list.children[place] !== line) { list.insertBefore(line, list.children[place] || null); changed = true; }
      place += 1;
    }
    if (changed) list.scrollTop = list.scrollHeight;
    return Math.max(end - LOG_ROWS, 0);
  };

  // ---- drawing ----

  const redraw = () => {
    if (state.dirty) return;
    state.dirty = true;
    requestAnimationFrame(() => { state.dirty = false; show(); });
  };

  const show = () => {
    const frame = state.frames[state.at], slider = find("slider"), over = find("overload");
    slider.max = Math.max(state.frames.length - 1, 0);
    slider.value = state.at;
    if (!frame) return;
    const why = state.at === state.opened ? (frame.held.size ? ", where the page opens: most ends of links are held" : frame.waits ? ", where the page opens: the longest queues" : "") : "";
    if (state.over) find("state").textContent = state.at === state.frames.length - 1 ? state.over : `frame ${fixed(state.at + 1, 1, 0)} of ${fixed(state.frames.length, 1, 0)}${why}`;
    find("time").textContent = ms(frame.time_s);
    slider.setAttribute("aria-valuetext", find("time").textContent);
    over.hidden = !frame.pace;
    over.textContent = frame.pace || "";
    const port = state.chosen && state.chosen.kind === "port" ? state.chosen.id : null;
    state.drawing.show(frame.by_port, frame.by_host, port);
    const ports = state.network.ports.filter((one) => (frame.by_port.has(one.port) || one.port === port) && matches(one.port, one.peer)).map((one) => portAt(frame, one.port));
    rows(find("ports"), "port", columnsOf(PORT_COLUMNS), sorted("ports", ports, (one) => one.port).slice(0, MOST_ROWS).map((one) => [one.port, one]));
    const idle = state.network.ports.length - frame.by_port.size, hidden = frame.by_port.size - ports.length;
    note("ports-note", [ports.length > MOST_ROWS && `${fixed(ports.length - MOST_ROWS, 1, 0)} more in use`, hidden > 0 && `${fixed(hidden, 1, 0)} with other names`, idle && `${fixed(idle, 1, 0)} idle ports`]);
    const going = frame.flows.filter((one) => one.state !== "ended" && one.state !== "stopped" && one.state !== "done");
    const flows = going.filter((one) => matches(String(one.id), `flow ${one.id}`, one.src, one.dst));
    rows(find("flows"), "flow", columnsOf(FLOW_COLUMNS), sorted("flows", flows, (one) => one.id).slice(0, MOST_ROWS).map((one) => [String(one.id), one]));
    note("flows-note", [flows.length > MOST_ROWS && `${fixed(flows.length - MOST_ROWS, 1, 0)} more`, going.length > flows.length && `${fixed(going.length - flows.length, 1, 0)} with other names`,
      frame.flows.length > going.length && `${fixed(frame.flows.length - going.length, 1, 0)} have ended`]);
    const all = find("search").value.trim();
    if (all) note("found", [`"${all}" leaves ${fixed(ports.length, 1, 0)} of ${fixed(ports.length + hidden, 1, 0)} ports and ${fixed(flows.length, 1, 0)} of ${fixed(going.length, 1, 0)} flows; Esc shows all`]);
    const more = showLog(frame);
    note("log-note", [more && `The last ${LOG_ROWS} lines until this moment, of ${fixed(LOG_ROWS + more, 1, 0)}.`, state.over && sampled(frame)], " ");
    facts(frame);
    heat();
    plots();
  };

  // ---- search and order ----

  const nodeOf = (name) => name.split(":")[0];
  // Of a host with one port its name alone
  const endName = (end) => (state.nodes.get(nodeOf(end)).length === 1 && !state.drawing.rates.has(end) ? nodeOf(end) : end);
  // A node's name is that node, a part of a name all that have it
  const matches = (...names) => {
    const text = find("search").value.trim().toLowerCase(), node = state.spelled.get(text);
    if (!text) return true;
    return names.some((name) => (node ? nodeOf(name) === node : name.toLowerCase().includes(text)));
  };
  // What has that name, or the first that has it in it: a node, a port, a flow; null: nothing has
  const named = (text) => {
    const name = text.toLowerCase(), id = name.replace(/^flow\s+/, ""), ends = [...state.peers.keys()];
    if (state.spelled.has(name)) return ["node", state.spelled.get(name)];
    const flows = [...new Set([...state.groups.keys(), ...state.members.keys(), ...state.frames.flatMap((frame) => frame.flows.map((one) => String(one.id)))])];
    const end = ends.find((one) => one.toLowerCase() === name), flow = flows.find((one) => one.toLowerCase() === id);
    if (end) return port(end);
    if (flow) return ["flow", flow];
    const has = (one) => one.toLowerCase().includes(name), part = ends.find(has), some = flows.find((one) => has(`flow ${one}`));
    return part ? port(part) : some ? ["flow", some] : null;
  };
  const RANKS = { paused: (one) => (one.up ? 2 * one.paused + one.pausing : 4) };
  const sorted = (table, list, named) => {
    const [field, way] = state.sort[table];
    if (field === null) return way > 0 ? list : list.reverse();
    const read = field === "name" ? named : RANKS[field] || ((one) => one[field]);
    return list.map((one) => [read(one) ?? null, one]).sort(([one], [other]) => {
      if (one === null || other === null) return (one === null) - (other === null);
      return way * (typeof one === "number" && typeof other === "number" ? one - other : BY_NUMBER.compare(String(one), String(other)));
    }).map(([, one]) => one);
  };
  const sort = (table, field, way) => {
    const [now, before] = state.sort[table];
    state.sort[table] = [field, now === field ? -before : way];
    redraw();
  };
  const heads = (table) => {
    const [field, way] = state.sort[table.id] || [];
    for (const cell of table.tHead.rows[0].cells) {
      const order = cell.dataset.field === field ? (way > 0 ? "ascending" : "descending") : "none";
      if (table.id in state.sort && cell.getAttribute("aria-sort") !== order) cell.setAttribute("aria-sort", order);
    }
  };

  const note = (id, parts, between = "; ") => { find(id).textContent = parts.filter(Boolean).join(between); };

  // Rows stay where they are, so that focus does
  const rows = (table, kind, columns, wanted) => {
    const all = [[kind === "flow" && !state.network.scheme ? "host" : kind, "name"], ...columns];
    if (table.tHead && table.tHead.rows[0].cells.length !== all.length) { table.deleteTHead(); table.replaceChildren(); }
    if (!table.tHead) {
      const head = table.createTHead().insertRow();
      for (const [title, field] of all) {
        const text = title.replace("RATE", state.network.rate_unit) || "state", cell = element("th", undefined, { scope: "col", "data-field": field });
        if (table.id in state.sort) {
          const button = element("button", text, { type: "button", title: [MEANINGS[field], `order by ${text}`].filter(Boolean).join("; ") });
          button.addEventListener("click", () => sort(table.id, field, ["name", "src", "dst", "state"].includes(field) ? 1 : -1));
          cell.appendChild(button);
        } else cell.textContent = text;
        head.appendChild(cell);
      }
      table.createTBody();
    }
    heads(table);
    const body = table.tBodies[0], there = new Map([...body.rows].map((row) => [row.dataset.id, row]));
    const kept = new Set(wanted.map(([id]) => id));
    for (const [id, row] of there) if (!kept.has(id)) row.remove();
    wanted.forEach(([id, one], place) => {
      let row = there.get(id);
      if (!row) {
        row = element("tr", undefined, { "data-id": id });
        row.insertCell().appendChild(link(kind, id));
        for (const [, field] of columns) row.insertCell().dataset.field = field;
      }
      if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] || null);
      put(row, "aria-selected", String(Boolean(state.chosen && state.chosen.kind === kind && state.chosen.id === id)));
      columns.forEach(([, field, text], column) => {
        const cell = row.cells[column + 1], shown = text(one);
        if (cell.textContent !== shown) cell.textContent = shown;
        put(cell, "data-value", JSON.stringify(one[field] ?? null));
        if (field === "paused") put(cell, "class", one.paused || !one.up ? "paused-text" : "");
        const of = (field === "src" || field === "dst") && state.nodes.has(one[field]) && one[field];
        if (of && !cell.firstElementChild) cell.replaceChildren(link("node", of, shown));
      });
    });
  };
  const put = (cell, name, value) => { if (cell.getAttribute(name) !== value) cell.setAttribute(name, value); };
  const link = (kind, id, text = id) => {
    const button = element("button", text, { type: "button", class: "link", "data-link": `${kind} ${id}` });
    button.addEventListener("click", () => choose(kind, id));
    return button;
  };

  const legend = (steps) => {
    const SVG = "http://www.w3.org/2000/svg", list = find("legend");
    list.replaceChildren();
    const item = (shape, attributes, text) => {
      const line = element("li"), svg = document.createElementNS(SVG, "svg"), drawn = document.createElementNS(SVG, shape);
      svg.setAttribute("viewBox", "0 0 30 14");
      svg.setAttribute("aria-hidden", "true");
      for (const key in attributes) drawn.setAttribute(key, attributes[key]);
      svg.appendChild(drawn);
      line.append(svg, text);
      list.appendChild(line);
    };
    item("path", { d: "M0 7h30", stroke: steps[0][1], "stroke-width": 1.2 + 2.8 * steps[0][0] }, `used share of the link: up to ${share(steps[0][0], 0)}`);
    for (const [most, colour] of steps.slice(1)) item("path", { d: "M0 7h30", stroke: colour, "stroke-width": 1.2 + 2.8 * most }, share(most, 0));
    item("circle", { class: "queue", cx: 15, cy: 7, r: 6 }, "queue");
    if (!state.network.scheme) return;
    item("path", { class: "paused", d: "M0 7h30" }, "PAUSE: an end may not send");
    item("path", { class: "bars", d: "M12 1v12M18 1v12" }, "that end");
    list.appendChild(element("li", "PFC: a switch with a long queue sends PAUSE (XOFF) to its neighbour, which may not send until RESUME (XON)"));
  };

  // ---- series of what is chosen ----

  const choose = (kind, id) => {
    state.chosen = kind ? { kind, id } : null;
    for (const [plot] of state.plots) plot.destroy();
    state.plots = [];
    state.shown = "";
    find("plots").replaceChildren();
    find("facts-table").deleteTHead();
    find("facts-table").replaceChildren();
    const chosen = kind === "port" && state.network.ports.find((one) => one.port === id), rack = kind === "node" ? state.drawing.hosts.get(id) : null;
    find("series-title").textContent = state.groups?.has(id) ? `Flows ${state.groups.get(id).text}` : !kind ? "This moment" : chosen ? `${id}, towards ${nodeOf(chosen.peer)}` : rack ? `${rack[0]} ... ${rack[rack.length - 1]}` : kind === "node" ? id : `Flow ${id}`;
    find("unchoose").hidden = !kind;
    const ways = kind === "flow" ? pathsOf(id) : null;
    state.drawing.light(ways ? ways.ports : new Set());
    state.drawing.mark(kind === "node" ? id : null);
    actions(kind, id);
    redraw();
  };

  // ---- what is known of what is chosen, at this moment and in all frames ----

  // Of each node its ports, of a host those of the switches that it is at
  const neighbours = (network) => {
    const nodes = new Map([...network.hosts.map((name) => [name, []]), ...network.ports.map((one) => [nodeOf(one.port), []])]);
    for (const one of network.ports) {
      nodes.get(nodeOf(one.port)).push(one);
      if (network.hosts.includes(nodeOf(one.peer))) nodes.get(nodeOf(one.peer)).push(one);
    }
    return nodes;
  };
  const memberOf = ([id, src, dst, size_bytes, start_s, fct_s, slowdown]) => ({ id, src, dst, size_bytes, start_s, fct_s, slowdown });
  // The ports of all shortest paths of a flow's packets, in order where there is one path alone
  const pathsOf = (id) => {
    const frame = state.frames.find((one) => flowAt(one, id)), flow = state.members.get(id) || (frame && flowAt(frame, id));
    if (!flow || !state.nodes.has(flow.src) || !state.nodes.has(flow.dst)) return null;
    const hosts = new Set(state.network.hosts), far = new Map([[flow.dst, 0]]), todo = [flow.dst];
    for (const node of todo) {
      if (node !== flow.dst && hosts.has(node)) continue; // a host passes nothing on
      for (const { port, peer } of state.nodes.get(node)) {
        for (const next of [nodeOf(port), nodeOf(peer)]) if (!far.has(next)) { far.set(next, far.get(node) + 1); todo.push(next); }
      }
    }
    const ports = new Set();
    let nodes = new Map([[flow.src, 1]]);
    for (let left = far.get(flow.src); left > 0; left -= 1) {
      const next = new Map();
      for (const [node, count] of nodes) {
        for (const one of state.nodes.get(node)) {
          const back = nodeOf(one.port) !== node, to = back ? nodeOf(one.port) : nodeOf(one.peer);
          if (far.get(to) !== left - 1) continue;
          ports.add(back ? one.peer : one.port);
          next.set(to, (next.get(to) || 0) + count);
        }
      }
      nodes = next;
    }
    return { ports, count: nodes.get(flow.dst) || 0 };
  };

  const queueText = (one) => (one.queue_bytes === null ? (one.queue_packets === null ? "of a length that the run didn't record (--queues)" : `${fixed(one.queue_packets, 1, 0)} packets`) : `${fixed(one.queue_bytes, 1e3, 1)} KB`);
  const waits = (one) => one.queue_bytes ?? one.queue_packets ?? 0;
  // Live P4 networks count packets alone
  const inBytes = () => state.network.scheme || state.frames.some((frame) => frame.ports.some((one) => one.queue_bytes !== null));
  const node = (name) => ["node", name], port = (name) => (state.drawing.rates.has(name) ? ["port", name] : ["node", nodeOf(name), endName(name)]);
  const rateText = (value) => `${rate(value, 2)} ${state.network.rate_unit}`;

  const sampled = (frame) => `Times are of samples, ${ms(frame.over_s)} apart: a change stands at the first sample that shows it.`;
  const groupBy = (values, read) => {
    const groups = new Map();
    for (const value of values) {
      const key = read(value);
      if (groups.has(key)) groups.get(key).push(value);
      else groups.set(key, [value]);
    }
    return groups;
  };
  const listed = (parts) => parts.flatMap((part, place) => [...(place ? [", "] : []), ...part]);
  const since = ({ since_s, breaks, before }) => `${breaks ? "on and off " : ""}since ${ms(since_s)}${before ? " or before" : ""}`;
  const holderOf = (end) => nodeOf(state.peers.get(end));

  // The longest queue of a node at a frame; null: none
  const longestOf = (frame, name) => {
    const longest = (state.nodes.get(name) || []).filter((one) => nodeOf(one.port) === name).map((one) => portAt(frame, one.port)).reduce((best, one) => (best && waits(best) >= waits(one) ? best : one), null);
    return longest && waits(longest) ? longest : null;
  };
  // Nodes that hold others and aren't held: where PAUSE starts. Of one whose queues are empty now `built` is the longest that it
  // had since it holds somebody, and when
  const roots = (frame) => {
    const holders = groupBy(frame.held.keys(), holderOf), held = new Set([...frame.held.keys()].map(nodeOf));
    const starts = [...holders].filter(([name]) => !held.has(name)).map(([name, ends]) => ({ name, ends, longest: longestOf(frame, name) }));
    return starts.sort((one, other) => (other.longest ? waits(other.longest) : 0) - (one.longest ? waits(one.longest) : 0));
  };
  const builtBy = (frame, { name, ends }) => {
    const from_s = Math.min(...ends.map((end) => frame.held.get(end).since_s));
    let built = null;
    // The queue was there at the latest when its PAUSE was: from a sample before
    for (let at = state.at, goes = true; at >= 0 && goes; at -= 1) {
      const then = state.frames[at], one = longestOf(then, name);
      if (one && (!built || waits(one) > waits(built.one))) built = { one, time_s: then.time_s };
      goes = then.time_s >= from_s;
    }
    return built;
  };
  // The levels of PAUSE above a root: whom it holds, whom these hold, ... Each has its ends by who holds them
  const levelsOf = (frame, root) => {
    const holders = groupBy(frame.held.keys(), holderOf), seen = new Set([root]), levels = [];
    for (let nodes = [root]; nodes.length;) {
      const held = nodes.filter((name) => holders.has(name)).map((name) => [name, holders.get(name)]);
      if (held.length) levels.push(held);
      nodes = [...new Set(held.flatMap(([, ends]) => ends.map(nodeOf)))].filter((name) => !seen.has(name));
      nodes.forEach((name) => seen.add(name));
    }
    return levels;
  };
  // Flows of one path that PAUSE of this tree stops though they cross no long queue of the root
  const victimsOf = (frame, root, longest, levels) => {
    const held = new Set(levels.flat().flatMap(([, ends]) => ends));
    const filled = new Set(frame.ports.filter((one) => nodeOf(one.port) === root && waits(one) && waits(one) >= LONG * waits(longest)).map((one) => one.port));
    if (longest) filled.add(longest.port);
    return frame.flows.filter((one) => one.state === "sending").filter((one) => {
      const ways = pathsOf(String(one.id));
      return ways && ways.count === 1 && [...ways.ports].some((name) => held.has(name)) && ![...ways.ports].some((name) => filled.has(name));
    });
  };
  // Names in order, three and more that follow each other as the first and the last
  const rangesOf = (ends) => {
    const order = [...ends].sort(BY_NUMBER.compare), ranges = [];
    const parts = (end) => /^(.*?)(\d*)(:\d+)?$/.exec(endName(end));
    for (const end of order) {
      const last = ranges.at(-1), [, stem, number, nic] = parts(end), [, before, least, its] = last ? parts(last.at(-1)) : [];
      if (last && number && stem === before && nic === its && Number(number) === Number(least) + 1) last.push(end);
      else ranges.push([end]);
    }
    return ranges.flatMap((range) => (range.length > 2 ? [[port(range[0]), " to ", port(range.at(-1))]] : range.map((end) => [port(end)])));
  };
  // Whom a node holds: switches one by one, the first held first, since each makes the tree longer; then hosts together, by since when
  const heldTexts = (frame, ends) => {
    const isHost = (end) => !state.drawing.rates.has(end), spell = (end) => frame.held.get(end);
    const switches = ends.filter((end) => !isHost(end)).sort((one, other) => spell(one).since_s - spell(other).since_s);
    const texts = switches.map((end) => ({ count: 1, parts: [node(nodeOf(end)), " (", port(end), `) ${since(spell(end))}`] }));
    const hosts = ends.filter(isHost);
    let groups = [...groupBy(hosts, (end) => spell(end).since_s)].sort(([one], [other]) => one - other).map(([, some]) => some);
    if (groups.length > MOST_SPELLS) groups = [hosts];
    for (const some of groups) {
      const broken = some.filter((end) => spell(end).breaks).length, times = some.map((end) => spell(end).since_s), ranges = rangesOf(some);
      const first = Math.min(...times), last = Math.max(...times), all = broken === some.length;
      const when = `${all ? "on and off " : ""}since ${ms(first)}${last > first ? ` to ${ms(last)}` : ""}${some.some((end) => spell(end).before) ? " or before" : ""}${broken && !all ? `, ${fixed(broken, 1, 0)} of them on and off` : ""}`;
      texts.push({ count: some.length, parts: some.length === 1 ? [...ranges[0], ` ${when}`]
        : [`${fixed(some.length, 1, 0)} hosts, `, ...listed(ranges.slice(0, MOST_RANGES)), `${ranges.length > MOST_RANGES ? " and more" : ""}, ${when}`] });
    }
    return texts;
  };
  const tree = (frame, start, longest) => {
    const root = start.name, levels = levelsOf(frame, root), lines = [];
    levels.forEach((held, depth) => {
      const texts = held.flatMap(([by, ends]) => heldTexts(frame, ends).map(({ count, parts }, place) => ({ count, parts: place || !depth ? parts : [node(by), " holds ", ...parts] })));
      const more = texts.slice(MOST_HELD).reduce((sum, { count }) => sum + count, 0);
      lines.push([`${depth + 1}. ${depth ? "then " : "it holds "}`, ...texts.slice(0, MOST_HELD).flatMap(({ parts }, place) => [...(place ? ["; "] : []), ...parts]), more ? `; ${fixed(more, 1, 0)} more ends.` : "."]);
    });
    const victims = victimsOf(frame, root, longest, levels);
    if (victims.length) lines.push([`Victims, which it stops though they cross no long queue of `, node(root), ": ", ...listed(victims.slice(0, MOST_HELD).map((one) => [["flow", String(one.id), `flow ${one.id}`]])), victims.length > MOST_HELD ? `, ${fixed(victims.length - MOST_HELD, 1, 0)} more.` : "."]);
    return [[`The tree of `, node(root), ` is ${levels.length} ${levels.length === 1 ? "link" : "links"} deep:`], ...lines];
  };
  const moment = (frame) => {
    const lines = [], queues = frame.ports.filter(waits).sort((one, other) => waits(other) - waits(one)).slice(0, 5);
    if (state.network.scheme) {
      const many = frame.held.size, starts = roots(frame).slice(0, 3);
      lines.push([many ? `PAUSE holds ${many === 1 ? "1 end of a link" : `${fixed(many, 1, 0)} ends of links`}.` : "PAUSE holds nobody."]);
      const queued = starts.map((root) => (root.longest ? null : builtBy(frame, root)));
      starts.forEach((root, place) => {
        const built = queued[place];
        lines.push(["It starts at ", node(root.name), `, which holds ${root.ends.length === 1 ? "a neighbour" : `${fixed(root.ends.length, 1, 0)} neighbours`} and isn't held; `,
          ...(root.longest ? ["its longest queue is ", port(root.longest.port), `, ${queueText(root.longest)}.`]
            : built ? ["its queues have drained, so this tree is left over: ", port(built.one.port), ` built it, ${queueText(built.one)} at ${ms(built.time_s)}.`]
              : ["no sample has a queue of it."])]);
      });
      if (starts.length) lines.push(...tree(frame, starts[0], starts[0].longest || (queued[0] && queued[0].one)));
      else if (many) {
        const holders = [...new Set([...frame.held.keys()].map(holderOf))];
        lines.push(["It goes in a circle: each node that holds others is held itself: ", ...listed(holders.slice(0, MOST_HELD).map((name) => [node(name)])), holders.length > MOST_HELD ? `, ${fixed(holders.length - MOST_HELD, 1, 0)} more.` : "."]);
      }
    }
    if (queues.length) lines.push(["Longest queues: ", ...listed(queues.map((one) => [port(one.port), ` ${queueText(one)}`])), "."]);
    if (state.over) lines.push([sampled(frame)]);
    return [...lines, ["A node, a line or a name shows what is known of it."]];
  };
  const mayNot = (frame, end, at) => {
    const spell = frame.held.get(end);
    return spell ? [["It may not send: ", node(holderOf(end)), ...(at ? [" holds it by ", port(at)] : [" holds it"]), ` ${since(spell)}${spell.breaks ? `, without a break since ${ms(spell.steady_s)}` : ""}.`]] : [];
  };
  const ofPort = (frame, id) => {
    const { peer, rate_bps } = state.network.ports.find((one) => one.port === id), now = portAt(frame, id), lines = [];
    lines.push(["From ", node(nodeOf(id)), " to ", port(peer), `, ${rateText(rate_bps)}.`]);
    const unknown = (one) => one.queue_bytes === null && one.queue_packets === null;
    lines.push([`Now: ${unknown(now) ? "its queue is unknown" : `${queueText(now)} wait`}, it sends ${rateText(now.rate_bps)}, ${share(now.utilisation)} of the link.`]);
    lines.push(...mayNot(frame, id));
    const holds = frame.held.get(peer);
    if (holds) lines.push(["It holds ", node(nodeOf(peer)), ` ${since(holds)}.`]);
    const all = state.frames.map((one) => portAt(one, id)), most = all.reduce((best, one, at) => (waits(one) > waits(all[best]) ? at : best), 0);
    const held = all.filter((one) => one.paused).length;
    const longest = waits(all[most]) ? `at most ${queueText(all[most])} at ${ms(state.frames[most].time_s)}` : all.every(unknown) ? "its queue is unknown" : "no queue";
    lines.push([`In all: ${longest}${state.network.scheme ? `; ${held ? `PAUSE holds it in ${share(held / all.length)} of the frames` : "PAUSE never holds it"}` : ""}.`]);
    if (state.drawing.rates.has(peer)) lines.push(["The other direction: ", port(peer), "."]);
    return lines;
  };
  const limit = (frame, flow) => {
    const held = state.nodes.get(flow.src).filter((one) => nodeOf(one.peer) === flow.src && portAt(frame, one.port).pausing);
    if (held.length) return ["PAUSE limits it: ", port(held[0].port), " holds its host."];
    const link = [...frame.by_host.values()].find((one) => nodeOf(one.port) === flow.src && one.utilisation >= FULL);
    if (link) return [`Its host's link limits it: ${share(link.utilisation)} are used, by all flows of `, node(flow.src), "."];
    if (flow.window_bytes !== null && flow.in_flight_bytes !== null && flow.in_flight_bytes >= FULL * flow.window_bytes) return ["Its window limits it: it is in flight."];
    if (flow.rate_bps !== null && flow.sent_bps !== null && flow.sent_bps >= FULL * flow.rate_bps) return ["Its scheme limits it: it sends what it may."];
    return ["Neither PAUSE at its host, nor its host's link, nor its scheme's rate limits it."];
  };
  const ofFlow = (frame, id) => {
    const member = state.members.get(id), now = member || flowAt(frame, id), lines = [];
    if (!now) return [["It isn't among the flows of this moment."]];
    if (member) {
      const { fct_s, slowdown, start_s, size_bytes } = member;
      lines.push(["From ", node(now.src), " to ", node(now.dst), `, ${fixed(size_bytes, 1e3, 1)} KB: starts at ${ms(start_s)}, ${fct_s === null ? "unfinished" : `takes ${ms(fct_s)}, ${fixed(slowdown, 1, 2)} times what the empty network takes`}.`]);
    } else if (state.groups.has(id)) return ofGroup(frame, id, now);
    else if (!state.nodes.has(now.src)) return [[`${now.state}: a group of flows, which sends ${rateText(now.sent_bps)}; ${rateText(now.goodput_bps)} arrive.`]];
    if (!member) lines.push(["From ", node(now.src), ...(state.nodes.has(now.dst) ? [" to ", node(now.dst)] : []), `: ${now.state}.`]);
    if (now.state === "sending" && state.network.scheme) lines.push(limit(frame, now));
    const ways = pathsOf(id);
    if (!ways || !ways.count) return lines;
    if (ways.count > 1) return [...lines, [`${fixed(ways.count, 1, 0)} shortest paths, by ${fixed(ways.ports.size, 1, 0)} ports; by which its packets go wasn't recorded.`]];
    const hops = [...ways.ports].filter((name) => state.drawing.rates.has(name)).map((name) => portAt(frame, name));
    lines.push(["Its path: ", ...hops.flatMap((one, place) => [place ? ", " : "", port(one.port), ` (${queueText(one)}${one.paused ? ", may not send" : ""})`]), "."]);
    return lines;
  };
  // A group of flows unfolds into its slowest ones
  const ofGroup = (frame, id, now) => {
    const { text, count, flows } = state.groups.get(id);
    return [[`${text}: ${fixed(count, 1, 0)} flows, which send ${rateText(now.sent_bps)} together; ${rateText(now.goodput_bps)} arrive.`],
      [`${flows.length < count ? `The ${fixed(flows.length, 1, 0)} slowest` : "All"} of them, by how much longer than in the empty network they take:`]];
  };
  const MEMBER_COLUMNS = [
    ["from", "src", (one) => one.src], ["to", "dst", (one) => one.dst], ["KB", "size_bytes", (one) => fixed(one.size_bytes, 1e3, 1)], ["starts ms", "start_s", (one) => fixed(one.start_s, 1e-3, 3)],
    ["takes ms", "fct_s", (one) => fixed(one.fct_s, 1e-3, 3)], ["slowdown", "slowdown", (one) => fixed(one.slowdown, 1, 2)],
  ];
  const ofNode = (frame, id) => {
    const rack = state.drawing.hosts.get(id);
    const ends = (name) => state.nodes.get(name).filter((one) => nodeOf(one.peer) === name).map((one) => [one.peer, one.port]);
    const stopped = rack ? rack.filter((name) => ends(name).some(([end]) => frame.held.has(end))) : [];
    if (rack) return [[`${rack.length} hosts at `, node(nodeOf(state.nodes.get(id)[0].port)), ": ", ...rack.flatMap((name, place) => [place ? ", " : "", node(name)]), "."], ...(stopped.length ? [[`${fixed(stopped.length, 1, 0)} of them may not send: `, ...listed(stopped.map((name) => [node(name)])), "."]] : [])];
    const lines = state.network.hosts.includes(id) ? ends(id).flatMap(([end, at]) => mayNot(frame, end, at)) : [];
    const flows = frame.flows.filter((one) => one.src === id || one.dst === id);
    return flows.length ? [...lines, ["Flows: ", ...flows.slice(0, MOST_LINKS).flatMap((one, place) => [place ? ", " : "", ["flow", String(one.id)]]), flows.length > MOST_LINKS ? `, ${fixed(flows.length - MOST_LINKS, 1, 0)} more.` : "."]] : lines;
  };
  const CARD_COLUMNS = ["queue_bytes", "queue_packets", "rate_bps", "utilisation", "paused"];

  const facts = (frame) => {
    const { kind, id } = state.chosen || {}, single = kind === "host" ? "node" : kind;
    const lines = { port: ofPort, flow: ofFlow, node: ofNode }[single]?.(frame, id) || (kind ? [] : moment(frame));
    const key = JSON.stringify(lines);
    if (key !== state.shown) {
      const list = find("facts"), focused = list.contains(document.activeElement) && document.activeElement.dataset.link;
      list.replaceChildren(...lines.map((parts) => {
        const line = element("li");
        line.append(...parts.map((part) => (typeof part === "string" ? part : link(...part))));
        return line;
      }));
      state.shown = key;
      if (focused) [...list.querySelectorAll("button")].find((one) => one.dataset.link === focused)?.focus();
    }
    if (kind === "flow" && state.groups.has(id)) rows(find("facts-table"), "flow", MEMBER_COLUMNS, state.groups.get(id).flows.map((values) => [String(values[0]), memberOf(values)]));
    const of = kind === "node" ? state.nodes.get(id) || [] : [];
    if (of.length) rows(find("facts-table"), "port", columnsOf(PORT_COLUMNS).filter(([, field]) => CARD_COLUMNS.includes(field)), of.map((one) => [one.port, portAt(frame, one.port)]));
  };

  // ---- heat map: all ports by time ----

  const HEATS = {
    queue: { read: (frame) => frame.ports.filter(waits).map((one) => [one.port, waits(one)]), shade: "--queue-heat",
      text: (value) => (inBytes() ? `${fixed(value, 1e3, 1)} KB` : `${fixed(value, 1, 0)} packets`), nothing: "a queue" },
    pause: { read: (frame) => frame.ports.flatMap((one) => [...(one.paused ? [[one.port, 1]] : []), ...(one.pausing && state.hosts.has(one.port) ? [[state.hosts.get(one.port), 1]] : [])]), most: 1, shade: "--pause",
      text: (value) => (value ? "may not send" : "may send"), strongest: "where one has colour, PAUSE holds it: it may not send", nothing: "a PAUSE that holds it" },
    share: { read: (frame) => [...frame.ports, ...frame.hosts].filter((one) => one.utilisation > 0).map((one) => [one.port, one.utilisation]), most: 1, shade: "--accent", text: share, strongest: "the strongest colour is a link that is full", nothing: "anything sent" },
  };
  const heat = () => {
    const since = performance.now() - state.painted;
    if (state.stale && (since > HEAT_EVERY_MS || !state.network.live)) {
      const of = HEATS[find("heat-of").value];
      const ports = [...state.hosts].map(([at, host]) => [host, at]).concat(state.network.ports.map((one) => [one.port, one.peer]));
      const wanted = new Set(ports.filter((names) => matches(...names)).map(([name]) => name));
      state.heat.draw(state.frames, ports.map(([name]) => name), wanted, endName, { ...of, colour: colour(of.shade), none: colour("--back") });
      state.stale = false;
      state.painted = performance.now();
    } else if (state.stale) setTimeout(redraw, HEAT_EVERY_MS - since);
    state.heat.moment(state.at);
  };
  const refresh = () => { state.stale = true; redraw(); };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const plots = () => {
    if (!state.chosen || !window.uPlot || !CHARTS[state.chosen.kind]) return;
    const { kind, id } = state.chosen, frames = state.frames, holder = find("plots");
    const of = kind === "port" ? (frame) => portAt(frame, id) : (frame) => flowAt(frame, id) || {};
    const times = frames.map((frame) => frame.time_s * 1e3), seen = frames.map(of);
    CHARTS[kind].forEach(([named, all, better], number) => {
      const lines = all.filter(([label]) => allowed(label));
      if (!state.network.scheme && OF_SCHEMES.includes(lines[0][1])) return;
      if (better && seen.some((one) => one[better] !== null && one[better] !== undefined)) return;
      const unit = named === "RATE" ? state.network.rate_unit : named, scale = named !== "RATE" ? 1 : unit === "Mbit/s" ? 1e6 : 1e9;
      const data = [times, ...lines.map(([, field, factor]) => seen.map((one) => (one[field] === null || one[field] === undefined ? null : one[field] / factor / scale)))];
      if (data.slice(1).every((values) => values.every((value) => value === null || (number && value === 0)))) return; // but for rates, a line at 0 says less than the card
      let made = state.plots.find(([, place]) => place === number);
      if (!made) {
        const axis = { stroke: colour("--muted"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
        const plot = new uPlot({
          width: Math.max(holder.clientWidth, 200), height: PLOT_HIGH, scales: { x: { time: false }, y: { range: (_, least, most) => [0, most > 0 ? most * 1.05 : 1] } }, cursor: { drag: { x: true, y: false } },
          axes: [{ ...axis, label: "ms", labelSize: 18, size: 34 }, { ...axis, label: unit, labelSize: 18, size: 56 }],
          series: [{ label: "at", value: (_, value) => (value === null ? "–" : ms(value / 1e3)) },
            ...lines.map(([label, , , name]) => ({ label, stroke: colour(name), width: 1.5, points: { show: false }, value: (_, value) => (value === null || value === undefined ? "–" : `${fixed(value, 1, 3)} ${unit}`) }))],
          hooks: { draw: [marker], setCursor: [resting] },
        }, data, holder);
        plot.over.addEventListener("dblclick", () => { if (plot.cursor.idx !== null) go(plot.cursor.idx); });
        made = [plot, number];
        state.plots.push(made);
      } else made[0].setData(data);
      resting(made[0]);
    });
  };
  // Without a pointer a chart's legend has the values of the shown frame
  const resting = (plot) => { if (plot.cursor.idx === null || plot.cursor.idx === undefined) plot.setLegend({ idx: state.at }, false); };

  // Where the shown frame is
  const marker = (plot) => {
    const frame = state.frames[state.at];
    if (!frame) return;
    const x = plot.valToPos(frame.time_s * 1e3, "x", true), { ctx, bbox } = plot;
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save();
    ctx.strokeStyle = colour("--accent");
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  };

  // ---- commands ----

  const actions = (kind, id) => {
    const holder = find("actions");
    holder.replaceChildren();
    holder.hidden = !(state.network && state.network.control && (kind === "port" || kind === "flow"));
    if (holder.hidden) return;
    const [node, port] = id.split(":"), link = kind === "port" && state.network.ports.find((one) => one.port === id);
    const pauses = state.network.scheme ? [["PAUSE for 1 ms", ["pause", node, port, "--for", "1ms"]], ["RESUME", ["resume", node, port]]] : [];
    const offered = kind === "flow" ? (state.network.scheme ? [["stop", ["flow", "stop", id]]] : []) : [
      ...pauses,
      ["link down", ["link", id, link.link.split("->")[1].split(":")[0], "down"]],
      ["link up", ["link", id, link.link.split("->")[1].split(":")[0], "up"]],
    ];
    for (const [text, words] of offered) {
      const button = element("button", text, { type: "button", title: `pcn ${words.join(" ")}` });
      button.addEventListener("click", () => command(words));
      holder.appendChild(button);
    }
  };

  const command = async (words) => {
    const print = (text) => {
      const last = state.frames[state.frames.length - 1];
      state.entries.push({ time_s: last ? last.time_s : 0, text });
      redraw();
    };
    print(`$ pcn ${words.join(" ")}`);
    try {
      const answer = await fetch("command", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(words) });
      for (const line of (await answer.text()).trimEnd().split("\n")) print(line);
    } catch {
      print("the command didn't reach pcn");
    }
  };
  find("command").addEventListener("submit", (event) => {
    event.preventDefault();
    const words = find("words").value.trim().split(/\s+/).filter(Boolean);
    if (words[0] === "pcn") words.shift();
    if (words.length) command(words);
  });

  // ---- replay ----

  // The moment with most links that a PAUSE holds, of those the one with the longest queues
  const mostHeld = () => state.frames.reduce((best, frame, at) => {
    const most = state.frames[best];
    return frame.held.size > most.held.size || (frame.held.size === most.held.size && frame.waits > most.waits) ? at : best;
  }, state.frames.length - 1);
  const go = (at) => {
    state.at = Math.min(Math.max(at, 0), state.frames.length - 1);
    state.follow = state.at === state.frames.length - 1 && !state.over;
    redraw();
  };
  const button = () => {
    const plays = state.timer !== null || state.follow, play = find("play");
    play.textContent = plays ? "❚❚" : "▶";
    play.setAttribute("aria-label", plays ? "pause" : "play");
  };
  const stop = () => { clearInterval(state.timer); state.timer = null; button(); };
  const start = () => {
    stop();
    if (state.at >= state.frames.length - 1) go(0);
    state.follow = false;
    state.timer = setInterval(() => {
      go(state.at + 1);
      if (state.at >= state.frames.length - 1) stop();
    }, 1000 / Number(find("speed").value));
    button();
  };
  const toggle = () => {
    if (state.timer !== null) stop();
    else if (state.follow && !state.over) { state.follow = false; button(); }
    else start();
  };
  const step = (by) => { stop(); go(state.at + by); if (by < 0) state.follow = false; button(); };
  const newest = () => { stop(); go(state.frames.length - 1); button(); };

  for (const speed of SPEEDS) find("speed").appendChild(element("option", `${speed} frames/s`, { value: speed }));
  find("speed").value = "10";
  find("speed").addEventListener("change", () => { if (state.timer !== null) { clearInterval(state.timer); start(); } });
  find("back").addEventListener("click", () => step(-1));
  find("forward").addEventListener("click", () => step(1));
  find("play").addEventListener("click", toggle);
  find("latest").addEventListener("click", newest);
  find("slider").addEventListener("input", (event) => { stop(); go(Number(event.target.value)); button(); });
  const KEYS = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), " ": toggle, End: newest, Home: () => { stop(); go(0); button(); } };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, button, .scroll, #network, #heat, #log")) return;
    if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key](); }
  });
  const ZOOMS = { "+": (drawing) => drawing.closer(), "=": (drawing) => drawing.closer(), "-": (drawing) => drawing.further(), "0": (drawing) => drawing.fit(), ArrowLeft: (drawing) => drawing.move(-1, 0),
    ArrowRight: (drawing) => drawing.move(1, 0), ArrowUp: (drawing) => drawing.move(0, -1), ArrowDown: (drawing) => drawing.move(0, 1) };
  find("network").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !ZOOMS[event.key] || !state.drawing) return;
    event.preventDefault();
    ZOOMS[event.key](state.drawing);
  });
  for (const [id, way] of [["closer", "+"], ["further", "-"], ["fit", "0"]]) find(id).addEventListener("click", () => state.drawing && ZOOMS[way](state.drawing));
  find("unchoose").addEventListener("click", () => choose(null));
  find("heat-of").addEventListener("change", refresh);
  // A filter while there is text in it
  find("search").addEventListener("input", () => { find("found").textContent = ""; refresh(); });
  const filter = (text) => { find("search").value = text; find("found").textContent = ""; refresh(); };
  // Enter goes to what was searched, and shows all again
  find("search").addEventListener("keydown", (event) => {
    const text = event.target.value.trim();
    if (event.key !== "Enter" || !text || !state.network) return;
    const there = named(text);
    filter("");
    choose(...(there || []));
    if (!there) find("found").textContent = `no node, port or flow is called "${text}"`;
  });
  // First the search ends, then what it chose
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !state.network || event.target.id === "words") return;
    if (find("search").value) { event.preventDefault(); filter(""); } else if (state.chosen) choose(null);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!state.network) return;
    if (state.chosen) choose(state.chosen.kind, state.chosen.id);
    refresh();
  });
  new ResizeObserver(() => {
    if (state.drawing) state.drawing.readable();
  }).observe(find("network"));
  new ResizeObserver(() => {
    for (const [plot] of state.plots) plot.setSize({ width: Math.max(find("plots").clientWidth, 200), height: PLOT_HIGH });
  }).observe(find("plots"));

  // ---- events: the browser connects again by itself, and names the last one that it got; a saved page has them inside ----

  const saved = find("recorded"), events = saved ? null : new EventSource("events");
  // Columns of differences, as `pcn.web.packed` writes them, back to frames
  const unpack = async (text) => {
    if (!window.DecompressionStream) throw new Error("this browser is too old for the recording: it has no DecompressionStream");
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const packed = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
    const count = packed.time_s.length, columns = {};
    for (const kind of ["ports", "flows", "hosts"]) columns[kind] = Object.entries(packed[kind].fields).map(([field, { is, of, per, rows }]) => {
      if (!rows) return [field, () => is];
      const table = rows.map((steps) => {
        const values = [];
        let sum = 0;
        for (let at = 0; at < count; at += 1) {
          const step = at < steps.length ? steps[at] : 0;
          sum += step ?? 0;
          values.push(step === null ? null : of ? of[sum] : sum / per);
        }
        return values;
      });
      return [field, (row, at) => table[row][at]];
    });
    const frame = (at) => {
      const made = { time_s: packed.time_s[at], over_s: packed.over_s[at], overload: null };
      for (const kind in columns) {
        const fields = columns[kind], many = packed[kind].count, used = fields.find(([field]) => field === "in_use");
        made[kind] = [];
        for (let row = 0; row < many; row += 1) if (!used || used[1](row, at)) made[kind].push(Object.fromEntries(fields.map(([field, value]) => [field, value(row, at)])));
      }
      return made;
    };
    return packed.time_s.map((_, at) => frame(at));
  };
  const takes = {
    network: begin,
    frame: (frame, letters) => { if (!state.timer) button(); add(frame, letters); },
    packed: async ({ frames }) => {
      for (const frame of await unpack(frames)) add(frame, 0);
      button();
    },
    over: ({ text }) => {
      state.over = text;
      if (state.follow && !state.network.live) { go(mostHeld()); state.opened = state.at; }
      state.follow = false;
      find("state").textContent = text;
      find("state").dataset.over = text;
      if (events) events.close();
      redraw();
      button();
    },
  };
  // One after another, as unpacking takes its time
  let turn = Promise.resolve();
  const take = (kind, number, content, letters) => {
    if (number <= state.last && kind !== "network") return;
    state.last = number;
    turn = turn.then(() => takes[kind](content, letters)).catch((error) => {
      find("state").textContent = error.message;
      throw error;
    });
  };
  if (saved) {
    for (const [number, kind, content] of JSON.parse(saved.textContent)) take(kind, number, content, 0);
  } else {
    for (const kind in takes) events.addEventListener(kind, (event) => take(kind, Number(event.lastEventId), JSON.parse(event.data), event.data.length));
    events.addEventListener("open", () => { find("state").textContent = state.network && state.network.live ? "live" : "running"; });
    events.addEventListener("error", () => { if (!state.over) find("state").textContent = "disconnected, connecting again ..."; });
  }
})();
