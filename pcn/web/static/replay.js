// The replay: slider, buttons and keys, and those of the drawing.
"use strict";

// The moment with most links that a PAUSE holds, of those the one with the longest queues
const mostHeld = () => state.frames.reduce((best, frame, at) => {
  const most = state.frames[best];
  return frame.held.size > most.held.size || (frame.held.size === most.held.size && frame.waits > most.waits) ? at : best;
}, state.frames.length - 1);

const goTo = (at) => {
  state.at = Math.min(Math.max(at, 0), state.frames.length - 1);
  state.follow = state.at === state.frames.length - 1 && !state.over;
  redraw();
};

const showPlayButton = () => {
  const plays = state.timer !== null || state.follow, play = find("play");
  play.textContent = plays ? "❚❚" : "▶";
  play.setAttribute("aria-label", plays ? "pause" : "play");
};

const stopReplay = () => { clearInterval(state.timer); state.timer = null; showPlayButton(); };

const startReplay = () => {
  stopReplay();
  if (state.at >= state.frames.length - 1) goTo(0);
  state.follow = false;
  state.timer = setInterval(() => {
    goTo(state.at + 1);
    if (state.at >= state.frames.length - 1) stopReplay();
  }, 1000 / Number(find("speed").value));
  showPlayButton();
};

const toggle = () => {
  if (state.timer !== null) stopReplay();
  else if (state.follow && !state.over) { state.follow = false; showPlayButton(); }
  else startReplay();
};

const step = (by) => { stopReplay(); goTo(state.at + by); if (by < 0) state.follow = false; showPlayButton(); };
const newest = () => { stopReplay(); goTo(state.frames.length - 1); showPlayButton(); };
for (const speed of SPEEDS) find("speed").appendChild(element("option", `${speed} frames/s`, { value: speed }));
find("speed").value = "10";
find("speed").addEventListener("change", () => { if (state.timer !== null) { clearInterval(state.timer); startReplay(); } });
find("back").addEventListener("click", () => step(-1));
find("forward").addEventListener("click", () => step(1));
find("play").addEventListener("click", toggle);
find("latest").addEventListener("click", newest);
find("slider").addEventListener("input", (event) => { stopReplay(); goTo(Number(event.target.value)); showPlayButton(); });
const KEYS = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), " ": toggle, End: newest, Home: () => { stopReplay(); goTo(0); showPlayButton(); } };

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
