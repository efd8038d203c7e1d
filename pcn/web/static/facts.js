// What is known of a chosen port, flow or node, at this moment and in all frames.
"use strict";

const choose = (kind, id) => {
  state.chosen = kind ? { kind, id } : null;
  for (const [plot] of state.plots) plot.destroy();
  state.plots = [];
  state.shown = "";
  find("plots").replaceChildren();
  find("facts-table").deleteTHead();
  find("facts-table").replaceChildren();
  const chosen = kind === "port" && state.network.ports.find((end) => end.port === id), rack = kind === "node" ? state.drawing.hosts.get(id) : null;
  find("series-title").textContent = state.groups?.has(id) ? `Flows ${state.groups.get(id).text}` : !kind ? "This moment" : chosen ? `${id}, towards ${nodeOf(chosen.peer)}` : rack ? `${rack[0]} ... ${rack[rack.length - 1]}` : kind === "node" ? id : `Flow ${id}`;
  find("unchoose").hidden = !kind;
  const ways = kind === "flow" ? pathsOf(id) : null;
  state.drawing.light(ways ? ways.ports : new Set());
  state.drawing.mark(kind === "node" ? id : null);
  actions(kind, id);
  redraw();
};

const mayNot = (frame, end, at) => {
  const spell = frame.held.get(end);
  return spell ? [["It may not send: ", node(holderOf(end)), ...(at ? [" holds it by ", port(at)] : [" holds it"]), ` ${since(spell)}${spell.breaks ? `, without a break since ${ms(spell.steady_s)}` : ""}.`]] : [];
};

const ofPort = (frame, id) => {
  const { peer, rate_bps } = state.network.ports.find((end) => end.port === id), now = portAt(frame, id), lines = [];
  lines.push(["From ", node(nodeOf(id)), " to ", port(peer), `, ${rateText(rate_bps)}.`]);
  const unknown = (sample) => sample.queue_bytes === null && sample.queue_packets === null;
  lines.push([`Now: ${unknown(now) ? "its queue is unknown" : `${queueText(now)} wait`}, it sends ${rateText(now.rate_bps)}, ${share(now.utilisation)} of the link.`]);
  lines.push(...mayNot(frame, id));
  const holds = frame.held.get(peer);
  if (holds) lines.push(["It holds ", node(nodeOf(peer)), ` ${since(holds)}.`]);
  const all = state.frames.map((then) => portAt(then, id)), most = all.reduce((best, sample, at) => (waits(sample) > waits(all[best]) ? at : best), 0);
  const held = all.filter((sample) => sample.paused).length;
  const longest = waits(all[most]) ? `at most ${queueText(all[most])} at ${ms(state.frames[most].time_s)}` : all.every(unknown) ? "its queue is unknown" : "no queue";
  lines.push([`In all: ${longest}${state.network.scheme ? `; ${held ? `PAUSE holds it in ${share(held / all.length)} of the frames` : "PAUSE never holds it"}` : ""}.`]);
  if (state.drawing.rates.has(peer)) lines.push(["The other direction: ", port(peer), "."]);
  return lines;
};

const limit = (frame, flow) => {
  const held = state.nodes.get(flow.src).filter((end) => nodeOf(end.peer) === flow.src && portAt(frame, end.port).pausing);
  if (held.length) return ["PAUSE limits it: ", port(held[0].port), " holds its host."];
  const link = [...frame.by_host.values()].find((sample) => nodeOf(sample.port) === flow.src && sample.utilisation >= FULL);
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
  lines.push(["Its path: ", ...hops.flatMap((sample, place) => [place ? ", " : "", port(sample.port), ` (${queueText(sample)}${sample.paused ? ", may not send" : ""})`]), "."]);
  return lines;
};

// A group of flows unfolds into its slowest ones
const ofGroup = (frame, id, now) => {
  const { text, count, flows } = state.groups.get(id);
  return [[`${text}: ${fixed(count, 1, 0)} flows, which send ${rateText(now.sent_bps)} together; ${rateText(now.goodput_bps)} arrive.`],
    [`${flows.length < count ? `The ${fixed(flows.length, 1, 0)} slowest` : "All"} of them, by how much longer than in the empty network they take:`]];
};

const MEMBER_COLUMNS = [
  ["from", "src", (flow) => flow.src], ["to", "dst", (flow) => flow.dst], ["KB", "size_bytes", (flow) => fixed(flow.size_bytes, 1e3, 1)], ["starts ms", "start_s", (flow) => fixed(flow.start_s, 1e-3, 3)],
  ["takes ms", "fct_s", (flow) => fixed(flow.fct_s, 1e-3, 3)], ["slowdown", "slowdown", (flow) => fixed(flow.slowdown, 1, 2)],
];

const ofNode = (frame, id) => {
  const rack = state.drawing.hosts.get(id);
  const ends = (name) => state.nodes.get(name).filter((end) => nodeOf(end.peer) === name).map((end) => [end.peer, end.port]);
  const stopped = rack ? rack.filter((name) => ends(name).some(([end]) => frame.held.has(end))) : [];
  if (rack) return [[`${rack.length} hosts at `, node(nodeOf(state.nodes.get(id)[0].port)), ": ", ...rack.flatMap((name, place) => [place ? ", " : "", node(name)]), "."], ...(stopped.length ? [[`${fixed(stopped.length, 1, 0)} of them may not send: `, ...listed(stopped.map((name) => [node(name)])), "."]] : [])];
  const lines = state.network.hosts.includes(id) ? ends(id).flatMap(([end, at]) => mayNot(frame, end, at)) : [];
  const flows = frame.flows.filter((flow) => flow.src === id || flow.dst === id);
  return flows.length ? [...lines, ["Flows: ", ...flows.slice(0, MOST_LINKS).flatMap((flow, place) => [place ? ", " : "", ["flow", String(flow.id)]]), flows.length > MOST_LINKS ? `, ${fixed(flows.length - MOST_LINKS, 1, 0)} more.` : "."]] : lines;
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
    if (focused) [...list.querySelectorAll("button")].find((shown) => shown.dataset.link === focused)?.focus();
  }
  if (kind === "flow" && state.groups.has(id)) rows(find("facts-table"), "flow", MEMBER_COLUMNS, state.groups.get(id).flows.map((values) => [String(values[0]), memberOf(values)]));
  const of = kind === "node" ? state.nodes.get(id) || [] : [];
  if (of.length) rows(find("facts-table"), "port", columnsOf(PORT_COLUMNS).filter(([, field]) => CARD_COLUMNS.includes(field)), of.map((end) => [end.port, portAt(frame, end.port)]));
};
