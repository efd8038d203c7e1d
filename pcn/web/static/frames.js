// Frames as they come: what a network begins with, which ends are held, when the page is drawn.
"use strict";

const beginNetwork = (network) => {
  Object.assign(state, { network, unknown: {}, had: new Set(), frames: [], letters: 0, at: -1, follow: true, chosen: null, over: "", opened: -1, entries: [], stale: true, shown: "" });
  const hosts = new Set(network.hosts);
  // Hosts' ports by the switch's ports that they are at
  state.hosts = new Map(network.ports.filter((end) => hosts.has(end.peer.split(":")[0])).map((end) => [end.port, end.peer]));
  document.title = `${network.name} – PCN Lab`;
  find("title").textContent = network.title;
  state.nodes = neighbours(network);
  state.peers = new Map(network.ports.flatMap((end) => [[end.port, end.peer], [end.peer, end.port]]));
  state.spelled = new Map([...state.nodes.keys()].map((name) => [name.toLowerCase(), name]));
  state.groups = new Map(Object.entries(network.members || {}));
  state.members = new Map([...state.groups.values()].flatMap(({ flows }) => flows.map((values) => [String(values[0]), memberOf(values)])));
  delete find("state").dataset.over;
  state.sort.ports = [network.scheme ? "queue_bytes" : "queue_packets", -1];
  state.drawing = new Drawing(find("network"), network, choose);
  document.querySelector("main").classList.toggle("wide", state.drawing.whole.width > WIDE);
  state.heat = new Heat(find("heat"), find("heat-note"), (port, at) => {
    stopReplay();
    goTo(at);
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

const addFrame = (frame, letters) => {
  frame.letters = letters;
  for (const sample of frame.ports) for (const field of MAY_LACK) if (sample[field] === null) state.unknown[field] = null;
  for (const sample of [...frame.ports, ...frame.flows]) for (const field in RARE) if (sample[field] !== null && sample[field] !== undefined) state.had.add(field);
  frame.by_port = new Map(frame.ports.map((sample) => [sample.port, sample]));
  frame.by_host = new Map(frame.hosts.map((sample) => [sample.port, sample]));
  frame.held = heldEnds(frame, state.frames[state.frames.length - 1], state.frames[state.frames.length - 2]);
  frame.waits = frame.ports.reduce((sum, sample) => sum + (sample.queue_bytes ?? sample.queue_packets ?? 0), 0);
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
  const ends = frame.ports.flatMap((sample) => [...(sample.paused ? [sample.port] : []), ...(sample.pausing && state.hosts.has(sample.port) ? [state.hosts.get(sample.port)] : [])]);
  return new Map(ends.map((end) => {
    const goes = before?.held.get(end), went = earlier?.held.get(end), now = frame.time_s;
    return [end, goes || (went ? { ...went, steady_s: now, breaks: went.breaks + 1 } : { since_s: now, steady_s: now, breaks: 0, before: !before })];
  }));
};
