// The live page: frames from the server's events, shown as they come or replayed.
"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const MOST_LETTERS = 64e6, MOST_ROWS = 80, MOST_LOG = 400;
  const SPEEDS = [1, 2, 5, 10, 20, 60];
  const IDLE = { queue_packets: 0, queue_bytes: 0, pn: 0, paused: false, pausing: false, rate_bps: 0, utilisation: 0, marked_share: null,
    marked_ue_share: null, pauses_sent_per_s: 0, pauses_received_per_s: 0, up: true, lost: 0, kept_pace: true };
  // Columns that are there once a frame has a value, of which field
  const RARE = { pn: "pn", lost: "lost", window_bytes: "window_bytes", in_flight_bytes: "window_bytes" };
  const MAY_LACK = ["queue_bytes", "queue_packets", "pn", "lost"];
  const state = { unknown: {}, had: new Set(), hosts: new Map(), network: null, frames: [], letters: 0, at: -1, follow: true, timer: null, last: 0, chosen: null, drawing: null, dirty: false, plots: [], over: false, logged: -1 };

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  };
  const fixed = (value, factor, digits) => (value === null || value === undefined ? "–" : (value / factor).toFixed(digits));
  const rate = (value, digits) => fixed(value, state.network.rate_unit === "Mb/s" ? 1e6 : 1e9, digits);
  const share = (value) => (value === null || value === undefined ? "–" : `${(value * 100).toFixed(1)}%`);

  const PORT_COLUMNS = [
    ["queue KB", "queue_bytes", (one) => fixed(one.queue_bytes, 1e3, 1)],
    ["packets", "queue_packets", (one) => (one.queue_packets === null ? "–" : String(one.queue_packets))],
    ["pn", "pn", (one) => (one.pn === null ? "–" : String(one.pn))],
    ["PAUSE out/ms", "pauses_sent_per_s", (one) => fixed(one.pauses_sent_per_s, 1e3, 2)],
    ["PAUSE in/ms", "pauses_received_per_s", (one) => fixed(one.pauses_received_per_s, 1e3, 2)],
    ["marked", "marked_share", (one) => share(one.marked_share)],
    ["sends RATE", "rate_bps", (one) => rate(one.rate_bps, 2)],
    ["of link", "utilisation", (one) => share(one.utilisation)],
    ["lost", "lost", (one) => (one.lost === null ? "–" : String(one.lost))],
    ["", "paused", (one) => (!one.up ? "DOWN" : one.paused ? "PAUSED" : one.pausing ? "pauses" : "") + (one.kept_pace ? "" : " late")],
  ];
  // Of any P4 network: its queues count packets, and there is no PAUSE
  const OF_SCHEMES = ["pn", "pauses_sent_per_s", "pauses_received_per_s", "marked_share", "window_bytes", "in_flight_bytes"];
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
  const CHARTS = {
    port: [["RATE", [["sends", "rate_bps", 1, "--first"]]], ["KB", [["queue", "queue_bytes", 1e3, "--second"]]],
      ["packets", [["queue", "queue_packets", 1, "--second"]], "queue_bytes"],
      ["1/ms", [["PAUSE received", "pauses_received_per_s", 1e3, "--second"], ["PAUSE sent", "pauses_sent_per_s", 1e3, "--third"]]]],
    flow: [["RATE", [["sends", "sent_bps", 1, "--first"], ["may send", "rate_bps", 1, "--second"], ["goodput", "goodput_bps", 1, "--third"]]], ["KB", [["window", "window_bytes", 1e3, "--second"]]]],
  };

  // ---- frames ----

  const begin = (network) => {
    Object.assign(state, { network, unknown: {}, had: new Set(), frames: [], letters: 0, at: -1, follow: true, chosen: null, over: false, logged: -1 });
    const hosts = new Set(network.hosts);
    // Hosts' ports by the switch's ports that they are at
    state.hosts = new Map(network.ports.filter((one) => hosts.has(one.peer.split(":")[0])).map((one) => [one.port, one.peer]));
    document.title = `${network.name} – PCN Lab`;
    find("title").textContent = network.title;
    state.drawing = new Drawing(find("network"), network, (port) => choose("port", port));
    legend(network.steps);
    find("log").replaceChildren();
    find("command").hidden = !network.control;
    find("words").placeholder = network.scheme ? "pause s1 3 --for 1ms" : "link s1 s2 down";
    find("flows-title").textContent = network.scheme ? "Flows" : "Hosts";
    for (const table of [find("ports"), find("flows")]) { table.deleteTHead(); table.replaceChildren(); }
    choose(null);
    find("state").textContent = network.live ? "live" : "running";
  };

  const add = (frame, letters) => {
    frame.letters = letters;
    for (const one of frame.ports) for (const field of MAY_LACK) if (one[field] === null) state.unknown[field] = null;
    for (const one of [...frame.ports, ...frame.flows]) for (const field in RARE) if (one[field] !== null && one[field] !== undefined) state.had.add(field);
    frame.by_port = new Map(frame.ports.map((one) => [one.port, one]));
    frame.by_host = new Map(frame.hosts.map((one) => [one.port, one]));
    frame.held = frame.ports.reduce((sum, one) => sum + one.paused + (one.pausing && state.hosts.has(one.port)), 0);
    frame.waits = frame.ports.reduce((sum, one) => sum + (one.queue_bytes ?? one.queue_packets ?? 0), 0);
    state.frames.push(frame);
    state.letters += letters;
    while (state.letters > MOST_LETTERS && state.frames.length > 1) {
      state.letters -= state.frames.shift().letters;
      state.at = Math.max(state.at - 1, 0);
      state.logged -= 1;
    }
    log(frame, state.frames[state.frames.length - 2]);
    if (state.follow) state.at = state.frames.length - 1;
    redraw();
  };

  // A port that does nothing isn't in a frame; what the network doesn't count isn't 0 there either
  const portAt = (frame, name) => frame.by_port.get(name) || { ...IDLE, ...state.unknown, port: name };
  const flowAt = (frame, id) => frame.flows.find((one) => String(one.id) === id);

  // ---- log: what the programs wrote, and what changed since the frame before ----

  const log = (frame, before) => {
    const lines = [...(frame.log || [])], when = `${(frame.time_s * 1e3).toFixed(3)} ms`;
    if (before) {
      for (const name of new Set([...before.by_port.keys(), ...frame.by_port.keys()])) {
        const now = portAt(frame, name), then = portAt(before, name);
        const host = state.hosts.get(name);
        if (host && now.pausing !== then.pausing) lines.push(`${when}  ${host} ${now.pausing ? "is paused" : "may send again"}`);
        if (now.paused !== then.paused) lines.push(`${when}  ${name} ${now.paused ? "is paused" : "may send again"}`);
        if (now.up !== then.up) lines.push(`${when}  ${name} is ${now.up ? "up" : "DOWN"}`);
        if (now.lost > then.lost && then.lost !== null) lines.push(`${when}  ${name} lost ${now.lost - then.lost} frames`);
      }
      const states = new Map(before.flows.map((one) => [one.id, one.state]));
      for (const one of frame.flows) if (states.get(one.id) !== one.state) lines.push(`${when}  flow ${one.id}: ${one.state}`);
    }
    const list = find("log"), end = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
    for (const line of lines.slice(-MOST_LOG)) list.appendChild(element("li", line));
    while (list.children.length > MOST_LOG) list.firstChild.remove();
    if (end) list.scrollTop = list.scrollHeight;
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
    find("time").textContent = `${(frame.time_s * 1e3).toFixed(3)} ms`;
    slider.setAttribute("aria-valuetext", find("time").textContent);
    over.hidden = !frame.pace;
    over.textContent = frame.pace || "";
    const port = state.chosen && state.chosen.kind === "port" ? state.chosen.id : null;
    state.drawing.show(frame.by_port, frame.by_host, port);
    const ports = state.network.ports.map((one) => one.port).filter((name) => frame.by_port.has(name) || name === port);
    rows(find("ports"), "port", "port", columnsOf(PORT_COLUMNS), ports.slice(0, MOST_ROWS).map((name) => [name, portAt(frame, name)]));
    const idle = state.network.ports.length - ports.length;
    note("ports-note", [ports.length > MOST_ROWS && `${ports.length - MOST_ROWS} more in use`, idle && `${idle} idle ports`]);
    const flows = frame.flows.filter((one) => one.state !== "ended" && one.state !== "stopped" && one.state !== "done");
    rows(find("flows"), "flow", "flow", columnsOf(FLOW_COLUMNS), flows.slice(0, MOST_ROWS).map((one) => [String(one.id), one]));
    note("flows-note", [flows.length > MOST_ROWS && `${flows.length - MOST_ROWS} more`, frame.flows.length > flows.length && `${frame.flows.length - flows.length} have ended`]);
    plots();
  };

  const note = (id, parts) => { find(id).textContent = parts.filter(Boolean).join("; "); };

  // Rows stay where they are, so that focus does
  const rows = (table, kind, heading, columns, wanted) => {
    if (table.tHead && table.tHead.rows[0].cells.length !== columns.length + 1) { table.deleteTHead(); table.replaceChildren(); }
    if (!table.tHead) {
      const head = table.createTHead().insertRow();
      for (const name of [heading, ...columns.map(([title]) => title)]) head.appendChild(element("th", name.replace("RATE", state.network.rate_unit), { scope: "col" }));
      table.createTBody();
    }
    const body = table.tBodies[0], there = new Map([...body.rows].map((row) => [row.dataset.id, row]));
    const kept = new Set(wanted.map(([id]) => id));
    for (const [id, row] of there) if (!kept.has(id)) row.remove();
    wanted.forEach(([id, one], place) => {
      let row = there.get(id);
      if (!row) {
        row = element("tr", undefined, { "data-id": id });
        const button = element("button", id, { type: "button" });
        button.addEventListener("click", () => choose(kind, id));
        row.insertCell().appendChild(button);
        for (const [, field] of columns) row.insertCell().dataset.field = field;
      }
      if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] || null);
      row.setAttribute("aria-selected", String(Boolean(state.chosen && state.chosen.kind === kind && state.chosen.id === id)));
      columns.forEach(([, field, text], column) => {
        const cell = row.cells[column + 1], shown = text(one);
        if (cell.textContent !== shown) cell.textContent = shown;
        cell.dataset.value = JSON.stringify(one[field] ?? null);
        if (field === "paused") cell.className = one.paused || !one.up ? "paused-text" : "";
      });
    });
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
    let below = 0;
    for (const [most, colour] of steps) {
      item("path", { d: "M0 7h30", stroke: colour, "stroke-width": 1.2 + 2.8 * most }, `${Math.round(below * 100)} to ${Math.round(most * 100)}% of the link`);
      below = most;
    }
    item("circle", { class: "queue", cx: 15, cy: 7, r: 6 }, "queue");
    if (!state.network.scheme) return;
    item("path", { class: "paused", d: "M0 7h30" }, "PAUSE: an end may not send");
    item("path", { class: "bars", d: "M12 1v12M18 1v12" }, "that end");
  };

  // ---- series of what is chosen ----

  const choose = (kind, id) => {
    state.chosen = kind ? { kind, id } : null;
    for (const [plot] of state.plots) plot.destroy();
    state.plots = [];
    find("plots").replaceChildren();
    const link = kind === "port" && state.network.ports.find((one) => one.port === id);
    find("series-title").textContent = !kind ? "Choose a port or a flow" : link ? `${id}, ${link.link}` : `Flow ${id}`;
    actions(kind, id);
    redraw();
  };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const plots = () => {
    if (!state.chosen || !window.uPlot) return;
    const { kind, id } = state.chosen, frames = state.frames, holder = find("plots");
    const of = kind === "port" ? (frame) => portAt(frame, id) : (frame) => flowAt(frame, id) || {};
    const times = frames.map((frame) => frame.time_s * 1e3), seen = frames.map(of);
    CHARTS[kind].forEach(([named, all, better], number) => {
      const lines = all.filter(([label]) => allowed(label));
      if (!state.network.scheme && OF_SCHEMES.includes(lines[0][1])) return;
      if (better && seen.some((one) => one[better] !== null && one[better] !== undefined)) return;
      const unit = named === "RATE" ? state.network.rate_unit : named, scale = named !== "RATE" ? 1 : unit === "Mb/s" ? 1e6 : 1e9;
      const data = [times, ...lines.map(([, field, factor]) => seen.map((one) => (one[field] === null || one[field] === undefined ? null : one[field] / factor / scale)))];
      if (data.slice(1).every((values) => values.every((value) => value === null))) return;
      let made = state.plots.find(([, place]) => place === number);
      if (!made) {
        const axis = { stroke: colour("--muted"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
        const plot = new uPlot({
          width: Math.max(holder.clientWidth, 200), height: 190, scales: { x: { time: false } }, cursor: { drag: { x: true, y: false } },
          axes: [{ ...axis, label: "ms", labelSize: 18, size: 34 }, { ...axis, label: unit, labelSize: 18, size: 56 }],
          series: [{ label: "ms", value: (_, value) => (value === null ? "–" : value.toFixed(3)) },
            ...lines.map(([label, , , name]) => ({ label, stroke: colour(name), width: 1.5, points: { show: false }, value: (_, value) => (value === null || value === undefined ? "–" : `${value.toFixed(3)} ${unit}`) }))],
          hooks: { draw: [marker] },
        }, data, holder);
        plot.over.addEventListener("dblclick", () => { if (plot.cursor.idx !== null) go(plot.cursor.idx); });
        made = [plot, number];
        state.plots.push(made);
      } else made[0].setData(data);
    });
  };

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
    holder.hidden = !(state.network && state.network.control && kind);
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
    const list = find("log");
    const print = (text) => { list.appendChild(element("li", text)); list.scrollTop = list.scrollHeight; };
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
    return frame.held > most.held || (frame.held === most.held && frame.waits > most.waits) ? at : best;
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
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, button, .scroll, #log")) return;
    if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key](); }
  });
  new ResizeObserver(() => {
    for (const [plot] of state.plots) plot.setSize({ width: Math.max(find("plots").clientWidth, 200), height: 190 });
  }).observe(find("plots"));

  // ---- events: the browser connects again by itself, and names the last one that it got; a saved page has them inside ----

  const saved = find("recorded"), events = saved ? null : new EventSource("events");
  const takes = {
    network: begin,
    frame: (frame, letters) => { if (!state.timer) button(); add(frame, letters); },
    over: ({ text }) => {
      state.over = true;
      if (state.follow && !state.network.live) go(mostHeld());
      state.follow = false;
      find("state").textContent = text;
      if (events) events.close();
      button();
    },
  };
  const take = (kind, number, content, letters) => {
    if (number <= state.last && kind !== "network") return;
    state.last = number;
    takes[kind](content, letters);
  };
  if (saved) {
    for (const [number, kind, content] of JSON.parse(saved.textContent)) take(kind, number, content, 0);
  } else {
    for (const kind in takes) events.addEventListener(kind, (event) => take(kind, Number(event.lastEventId), JSON.parse(event.data), event.data.length));
    events.addEventListener("open", () => { find("state").textContent = state.network && state.network.live ? "live" : "running"; });
    events.addEventListener("error", () => { if (!state.over) find("state").textContent = "disconnected, connecting again ..."; });
  }
})();
