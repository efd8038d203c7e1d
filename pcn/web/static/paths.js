// Neighbours of nodes, and the paths of flows.
"use strict";

// Of each node its ports, of a host those of the switches that it is at
const neighbours = (network) => {
  const nodes = new Map([...network.hosts.map((name) => [name, []]), ...network.ports.map((end) => [nodeOf(end.port), []])]);
  for (const end of network.ports) {
    nodes.get(nodeOf(end.port)).push(end);
    if (network.hosts.includes(nodeOf(end.peer))) nodes.get(nodeOf(end.peer)).push(end);
  }
  return nodes;
};

const memberOf = ([id, src, dst, size_bytes, start_s, fct_s, slowdown]) => ({ id, src, dst, size_bytes, start_s, fct_s, slowdown });

// The ports of all shortest paths of a flow's packets, in order where there is one path alone
const pathsOf = (id) => {
  const frame = state.frames.find((moment) => flowAt(moment, id)), flow = state.members.get(id) || (frame && flowAt(frame, id));
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
      for (const end of state.nodes.get(node)) {
        const back = nodeOf(end.port) !== node, to = back ? nodeOf(end.port) : nodeOf(end.peer);
        if (far.get(to) !== left - 1) continue;
        ports.add(back ? end.peer : end.port);
        next.set(to, (next.get(to) || 0) + count);
      }
    }
    nodes = next;
  }
  return { ports, count: nodes.get(flow.dst) || 0 };
};
