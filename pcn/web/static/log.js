// The log: what the programs wrote, and what changed since the frame before.
"use strict";

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
    const states = new Map(before.flows.map((flow) => [flow.id, flow.state]));
    for (const flow of frame.flows) if (states.get(flow.id) !== flow.state) lines.push(`${when}  flow ${flow.id}: ${flow.state}`);
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
      button.addEventListener("click", () => { stopReplay(); goTo(state.frames.findIndex((later) => later.time_s >= entry.time_s)); });
      line.appendChild(button);
    }
    if (list.children[place] !== line) { list.insertBefore(line, list.children[place] || null); changed = true; }
    place += 1;
  }
  if (changed) list.scrollTop = list.scrollHeight;
  return Math.max(end - LOG_ROWS, 0);
};
