// Where PAUSE starts at a moment, whom it holds, and its victims, as lines of text.
"use strict";

const node = (name) => ["node", name], port = (name) => (state.drawing.rates.has(name) ? ["port", name] : ["node", nodeOf(name), endName(name)]);
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
  const longest = (state.nodes.get(name) || []).filter((end) => nodeOf(end.port) === name).map((end) => portAt(frame, end.port)).reduce((best, sample) => (best && waits(best) >= waits(sample) ? best : sample), null);
  return longest && waits(longest) ? longest : null;
};

// Nodes that hold others and aren't held: where PAUSE starts. Of one whose queues are empty now `built` is the longest that it
// had since it holds somebody, and when
const roots = (frame) => {
  const holders = groupBy(frame.held.keys(), holderOf), held = new Set([...frame.held.keys()].map(nodeOf));
  const starts = [...holders].filter(([name]) => !held.has(name)).map(([name, ends]) => ({ name, ends, longest: longestOf(frame, name) }));
  return starts.sort((a, b) => (b.longest ? waits(b.longest) : 0) - (a.longest ? waits(a.longest) : 0));
};

const builtBy = (frame, { name, ends }) => {
  const from_s = Math.min(...ends.map((end) => frame.held.get(end).since_s));
  let built = null;
  // The queue was there at the latest when its PAUSE was: from a sample before
  for (let at = state.at, goes = true; at >= 0 && goes; at -= 1) {
    const then = state.frames[at], queue = longestOf(then, name);
    if (queue && (!built || waits(queue) > waits(built.queue))) built = { queue, time_s: then.time_s };
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
  const filled = new Set(frame.ports.filter((sample) => nodeOf(sample.port) === root && waits(sample) && waits(sample) >= LONG * waits(longest)).map((sample) => sample.port));
  if (longest) filled.add(longest.port);
  return frame.flows.filter((flow) => flow.state === "sending").filter((flow) => {
    const ways = pathsOf(String(flow.id));
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
  const switches = ends.filter((end) => !isHost(end)).sort((a, b) => spell(a).since_s - spell(b).since_s);
  const texts = switches.map((end) => ({ count: 1, parts: [node(nodeOf(end)), " (", port(end), `) ${since(spell(end))}`] }));
  const hosts = ends.filter(isHost);
  let groups = [...groupBy(hosts, (end) => spell(end).since_s)].sort(([a], [b]) => a - b).map(([, some]) => some);
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
  if (victims.length) lines.push([`Victims, which it stops though they cross no long queue of `, node(root), ": ", ...listed(victims.slice(0, MOST_HELD).map((flow) => [["flow", String(flow.id), `flow ${flow.id}`]])), victims.length > MOST_HELD ? `, ${fixed(victims.length - MOST_HELD, 1, 0)} more.` : "."]);
  return [[`The tree of `, node(root), ` is ${levels.length} ${levels.length === 1 ? "link" : "links"} deep:`], ...lines];
};

const moment = (frame) => {
  const lines = [], queues = frame.ports.filter(waits).sort((a, b) => waits(b) - waits(a)).slice(0, 5);
  if (state.network.scheme) {
    const many = frame.held.size, starts = roots(frame).slice(0, 3);
    lines.push([many ? `PAUSE holds ${many === 1 ? "1 end of a link" : `${fixed(many, 1, 0)} ends of links`}.` : "PAUSE holds nobody."]);
    const queued = starts.map((root) => (root.longest ? null : builtBy(frame, root)));
    starts.forEach((root, place) => {
      const built = queued[place];
      lines.push(["It starts at ", node(root.name), `, which holds ${root.ends.length === 1 ? "a neighbour" : `${fixed(root.ends.length, 1, 0)} neighbours`} and isn't held; `,
        ...(root.longest ? ["its longest queue is ", port(root.longest.port), `, ${queueText(root.longest)}.`]
          : built ? ["its queues have drained, so this tree is left over: ", port(built.queue.port), ` built it, ${queueText(built.queue)} at ${ms(built.time_s)}.`]
            : ["no sample has a queue of it."])]);
    });
    if (starts.length) lines.push(...tree(frame, starts[0], starts[0].longest || (queued[0] && queued[0].queue)));
    else if (many) {
      const holders = [...new Set([...frame.held.keys()].map(holderOf))];
      lines.push(["It goes in a circle: each node that holds others is held itself: ", ...listed(holders.slice(0, MOST_HELD).map((name) => [node(name)])), holders.length > MOST_HELD ? `, ${fixed(holders.length - MOST_HELD, 1, 0)} more.` : "."]);
    }
  }
  if (queues.length) lines.push(["Longest queues: ", ...listed(queues.map((sample) => [port(sample.port), ` ${queueText(sample)}`])), "."]);
  if (state.over) lines.push([sampled(frame)]);
  return [...lines, ["A node, a line or a name shows what is known of it."]];
};
