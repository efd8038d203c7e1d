// What all scripts of the live page share: its state, elements, numbers as texts, names of ends and nodes.
"use strict";

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
  const created = document.createElement(name);
  if (text !== undefined) created.textContent = text;
  for (const key in attributes) created.setAttribute(key, attributes[key]);
  return created;
};

// Numbers have thousands separated, and as many digits as the others of their column
const formats = [0, 1, 2, 3].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const fixed = (value, factor, digits) => (value === null || value === undefined ? "–" : formats[digits].format(value / factor));
const rate = (value, digits) => fixed(value, state.network.rate_unit === "Mbit/s" ? 1e6 : 1e9, digits);
const ms = (time_s) => `${fixed(time_s, 1e-3, 3)} ms`;
const share = (value, digits = 1) => (value === null || value === undefined ? "–" : `${(value * 100).toFixed(digits)}%`);
// A port that does nothing isn't in a frame; what the network doesn't count isn't 0 there either
const portAt = (frame, name) => frame.by_port.get(name) || { ...IDLE, ...state.unknown, port: name };
const flowAt = (frame, id) => frame.flows.find((flow) => String(flow.id) === id);
const nodeOf = (name) => name.split(":")[0];
// Of a host with one port its name alone
const endName = (end) => (state.nodes.get(nodeOf(end)).length === 1 && !state.drawing.rates.has(end) ? nodeOf(end) : end);
const note = (id, parts, between = "; ") => { find(id).textContent = parts.filter(Boolean).join(between); };
const put = (cell, name, value) => { if (cell.getAttribute(name) !== value) cell.setAttribute(name, value); };
const queueText = (sample) => (sample.queue_bytes === null ? (sample.queue_packets === null ? "of a length that the run didn't record (--queues)" : `${fixed(sample.queue_packets, 1, 0)} packets`) : `${fixed(sample.queue_bytes, 1e3, 1)} KB`);
const waits = (sample) => sample.queue_bytes ?? sample.queue_packets ?? 0;
// Live P4 networks count packets alone
const inBytes = () => state.network.scheme || state.frames.some((frame) => frame.ports.some((sample) => sample.queue_bytes !== null));
const rateText = (value) => `${rate(value, 2)} ${state.network.rate_unit}`;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
