// Where frames come from: the server's events, to which the browser connects again by itself, or a saved page.
"use strict";

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
    const unpacked = { time_s: packed.time_s[at], over_s: packed.over_s[at], overload: null };
    for (const kind in columns) {
      const fields = columns[kind], many = packed[kind].count, used = fields.find(([field]) => field === "in_use");
      unpacked[kind] = [];
      for (let row = 0; row < many; row += 1) if (!used || used[1](row, at)) unpacked[kind].push(Object.fromEntries(fields.map(([field, value]) => [field, value(row, at)])));
    }
    return unpacked;
  };
  return packed.time_s.map((_, at) => frame(at));
};

const takes = {
  network: beginNetwork,
  frame: (frame, letters) => { if (!state.timer) showPlayButton(); addFrame(frame, letters); },
  packed: async ({ frames }) => {
    for (const frame of await unpack(frames)) addFrame(frame, 0);
    showPlayButton();
  },
  over: ({ text }) => {
    state.over = text;
    if (state.follow && !state.network.live) { goTo(mostHeld()); state.opened = state.at; }
    state.follow = false;
    find("state").textContent = text;
    find("state").dataset.over = text;
    if (events) events.close();
    redraw();
    showPlayButton();
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
