// Tables of ports and flows: their columns, order, rows that stay where they are.
"use strict";

const PORT_COLUMNS = [
  ["", "paused", (sample) => (!sample.up ? "DOWN" : sample.paused ? "PAUSED" : sample.pausing ? `pauses ${nodeOf(state.peers.get(sample.port))}` : "") + (sample.kept_pace ? "" : " late")],
  ["queue KB", "queue_bytes", (sample) => fixed(sample.queue_bytes, 1e3, 1)],
  ["packets", "queue_packets", (sample) => fixed(sample.queue_packets, 1, 0)],
  ["PAUSE-delayed packets", "pn", (sample) => fixed(sample.pn, 1, 0)],
  ["PAUSE out/ms", "pauses_sent_per_s", (sample) => fixed(sample.pauses_sent_per_s, 1e3, 2)],
  ["PAUSE in/ms", "pauses_received_per_s", (sample) => fixed(sample.pauses_received_per_s, 1e3, 2)],
  ["marked", "marked_share", (sample) => share(sample.marked_share)],
  ["sends RATE", "rate_bps", (sample) => rate(sample.rate_bps, 2)],
  ["of link", "utilisation", (sample) => share(sample.utilisation)],
  ["lost", "lost", (sample) => fixed(sample.lost, 1, 0)],
];

// Of any P4 network: there is no PAUSE, and its rows of flows are what hosts send and receive
const OF_SCHEMES = ["pn", "pauses_sent_per_s", "pauses_received_per_s", "marked_share", "window_bytes", "in_flight_bytes", "src", "dst"];
const columnsOf = (columns) => columns.filter(([title, field]) => !(state.network.scheme ? ["queue_packets"] : OF_SCHEMES).includes(field) && allowed(title) && (!RARE[field] || state.had.has(RARE[field])));
// What a scheme lets a flow send, where there is none
const allowed = (title) => state.network.scheme || !title.startsWith("may send");

const FLOW_COLUMNS = [
  ["from", "src", (sample) => (sample.src_port == null ? sample.src : `${sample.src}:${sample.src_port}`)],
  ["to", "dst", (sample) => sample.dst],
  ["state", "state", (sample) => sample.state + (sample.kept_pace ? "" : ", late")],
  ["sends RATE", "sent_bps", (sample) => rate(sample.sent_bps, 3)],
  ["may send RATE", "rate_bps", (sample) => rate(sample.rate_bps, 3)],
  ["window KB", "window_bytes", (sample) => fixed(sample.window_bytes, 1e3, 1)],
  ["in flight KB", "in_flight_bytes", (sample) => (sample.window_bytes === null ? "–" : fixed(sample.in_flight_bytes, 1e3, 1))],
  ["goodput RATE", "goodput_bps", (sample) => rate(sample.goodput_bps, 3)],
  ["marked", "marked_share", (sample) => share(sample.marked_share)],
];

// What a heading can't say, by field
const MEANINGS = { pn: "packets in the queue that a PAUSE delayed, which NP-ECN leaves unmarked" };
const RANKS = { paused: (sample) => (sample.up ? 2 * sample.paused + sample.pausing : 4) };

const sorted = (table, list, named) => {
  const [field, way] = state.sort[table];
  if (field === null) return way > 0 ? list : list.reverse();
  const read = field === "name" ? named : RANKS[field] || ((sample) => sample[field]);
  return list.map((sample) => [read(sample) ?? null, sample]).sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return way * (typeof a === "number" && typeof b === "number" ? a - b : BY_NUMBER.compare(String(a), String(b)));
  }).map(([, sample]) => sample);
};

const sort = (table, field, way) => {
  const [now, before] = state.sort[table];
  state.sort[table] = [field, now === field ? -before : way];
  redraw();
};

const heads = (table) => {
  const [field, way] = state.sort[table.id] || [];
  for (const cell of table.tHead.rows[0].cells) {
    const order = cell.dataset.field === field ? (way > 0 ? "ascending" : "descending") : "none";
    if (table.id in state.sort && cell.getAttribute("aria-sort") !== order) cell.setAttribute("aria-sort", order);
  }
};

// Rows stay where they are, so that focus does
const rows = (table, kind, columns, wanted) => {
  const all = [[kind === "flow" && !state.network.scheme ? "host" : kind, "name"], ...columns];
  if (table.tHead && table.tHead.rows[0].cells.length !== all.length) { table.deleteTHead(); table.replaceChildren(); }
  if (!table.tHead) {
    const head = table.createTHead().insertRow();
    for (const [title, field] of all) {
      const text = title.replace("RATE", state.network.rate_unit) || "state", cell = element("th", undefined, { scope: "col", "data-field": field });
      if (table.id in state.sort) {
        const button = element("button", text, { type: "button", title: [MEANINGS[field], `order by ${text}`].filter(Boolean).join("; ") });
        button.addEventListener("click", () => sort(table.id, field, ["name", "src", "dst", "state"].includes(field) ? 1 : -1));
        cell.appendChild(button);
      } else cell.textContent = text;
      head.appendChild(cell);
    }
    table.createTBody();
  }
  heads(table);
  const body = table.tBodies[0], there = new Map([...body.rows].map((row) => [row.dataset.id, row]));
  const ids = new Set(wanted.map(([id]) => id));
  for (const [id, row] of there) if (!ids.has(id)) row.remove();
  wanted.forEach(([id, sample], place) => {
    let row = there.get(id);
    if (!row) {
      row = element("tr", undefined, { "data-id": id });
      row.insertCell().appendChild(link(kind, id));
      for (const [, field] of columns) row.insertCell().dataset.field = field;
    }
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] || null);
    put(row, "aria-selected", String(Boolean(state.chosen && state.chosen.kind === kind && state.chosen.id === id)));
    columns.forEach(([, field, text], column) => {
      const cell = row.cells[column + 1], shown = text(sample);
      if (cell.textContent !== shown) cell.textContent = shown;
      put(cell, "data-value", JSON.stringify(sample[field] ?? null));
      if (field === "paused") put(cell, "class", sample.paused || !sample.up ? "paused-text" : "");
      const of = (field === "src" || field === "dst") && state.nodes.has(sample[field]) && sample[field];
      if (of && !cell.firstElementChild) cell.replaceChildren(link("node", of, shown));
    });
  });
};

const link = (kind, id, text = id) => {
  const button = element("button", text, { type: "button", class: "link", "data-link": `${kind} ${id}` });
  button.addEventListener("click", () => choose(kind, id));
  return button;
};
