// The search: a filter of tables while it has text, and the way to a name.
"use strict";

// A node's name is that node, a part of a name all that have it
const matches = (...names) => {
  const text = find("search").value.trim().toLowerCase(), node = state.spelled.get(text);
  if (!text) return true;
  return names.some((name) => (node ? nodeOf(name) === node : name.toLowerCase().includes(text)));
};

// What has that name, or the first that has it in it: a node, a port, a flow; null: nothing has
const placeNamed = (text) => {
  const name = text.toLowerCase(), id = name.replace(/^flow\s+/, ""), ends = [...state.peers.keys()];
  if (state.spelled.has(name)) return ["node", state.spelled.get(name)];
  const flows = [...new Set([...state.groups.keys(), ...state.members.keys(), ...state.frames.flatMap((frame) => frame.flows.map((flow) => String(flow.id)))])];
  const end = ends.find((spelling) => spelling.toLowerCase() === name), flow = flows.find((spelling) => spelling.toLowerCase() === id);
  if (end) return port(end);
  if (flow) return ["flow", flow];
  const has = (spelling) => spelling.toLowerCase().includes(name), part = ends.find(has), some = flows.find((spelling) => has(`flow ${spelling}`));
  return part ? port(part) : some ? ["flow", some] : null;
};

// A filter while there is text in it
find("search").addEventListener("input", () => { find("found").textContent = ""; refresh(); });
const filter = (text) => { find("search").value = text; find("found").textContent = ""; refresh(); };

// Enter goes to what was searched, and shows all again
find("search").addEventListener("keydown", (event) => {
  const text = event.target.value.trim();
  if (event.key !== "Enter" || !text || !state.network) return;
  const there = placeNamed(text);
  filter("");
  choose(...(there || []));
  if (!there) find("found").textContent = `no node, port or flow is called "${text}"`;
});

// First the search ends, then what it chose
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !state.network || event.target.id === "words") return;
  if (find("search").value) { event.preventDefault(); filter(""); } else if (state.chosen) choose(null);
});
