// Charts of a chosen port or flow over time.
"use strict";

const CHARTS = {
  port: [["RATE", [["sends", "rate_bps", 1, "--first"]]], ["KB", [["queue", "queue_bytes", 1e3, "--second"]]],
    ["packets", [["queue", "queue_packets", 1, "--second"]], "queue_bytes"],
    ["1/ms", [["PAUSE received", "pauses_received_per_s", 1e3, "--second"], ["PAUSE sent", "pauses_sent_per_s", 1e3, "--third"]]]],
  flow: [["RATE", [["sends", "sent_bps", 1, "--first"], ["may send", "rate_bps", 1, "--second"], ["goodput", "goodput_bps", 1, "--third"]]], ["KB", [["window", "window_bytes", 1e3, "--second"]]]],
};

const plots = () => {
  if (!state.chosen || !window.uPlot || !CHARTS[state.chosen.kind]) return;
  const { kind, id } = state.chosen, frames = state.frames, holder = find("plots");
  const of = kind === "port" ? (frame) => portAt(frame, id) : (frame) => flowAt(frame, id) || {};
  const times = frames.map((frame) => frame.time_s * 1e3), seen = frames.map(of);
  CHARTS[kind].forEach(([named, all, better], number) => {
    const lines = all.filter(([label]) => allowed(label));
    if (!state.network.scheme && OF_SCHEMES.includes(lines[0][1])) return;
    if (better && seen.some((sample) => sample[better] !== null && sample[better] !== undefined)) return;
    const unit = named === "RATE" ? state.network.rate_unit : named, scale = named !== "RATE" ? 1 : unit === "Mbit/s" ? 1e6 : 1e9;
    const data = [times, ...lines.map(([, field, factor]) => seen.map((sample) => (sample[field] === null || sample[field] === undefined ? null : sample[field] / factor / scale)))];
    if (data.slice(1).every((values) => values.every((value) => value === null || (number && value === 0)))) return; // but for rates, a line at 0 says less than the card
    let entry = state.plots.find(([, place]) => place === number);
    if (!entry) {
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
      const plot = new uPlot({
        width: Math.max(holder.clientWidth, 200), height: PLOT_HIGH, scales: { x: { time: false }, y: { range: (_, least, most) => [0, most > 0 ? most * 1.05 : 1] } }, cursor: { drag: { x: true, y: false } },
        axes: [{ ...axis, label: "ms", labelSize: 18, size: 34 }, { ...axis, label: unit, labelSize: 18, size: 56 }],
        series: [{ label: "at", value: (_, value) => (value === null ? "–" : ms(value / 1e3)) },
          ...lines.map(([label, , , name]) => ({ label, stroke: colour(name), width: 1.5, points: { show: false }, value: (_, value) => (value === null || value === undefined ? "–" : `${fixed(value, 1, 3)} ${unit}`) }))],
        hooks: { draw: [marker], setCursor: [resting] },
      }, data, holder);
      plot.over.addEventListener("dblclick", () => { if (plot.cursor.idx !== null) goTo(plot.cursor.idx); });
      entry = [plot, number];
      state.plots.push(entry);
    } else entry[0].setData(data);
    resting(entry[0]);
  });
};

// Without a pointer a chart's legend has the values of the shown frame
const resting = (plot) => { if (plot.cursor.idx === null || plot.cursor.idx === undefined) plot.setLegend({ idx: state.at }, false); };

// Where the shown frame is
const marker = (plot) => {
  const frame = state.frames[state.at];
  if (!frame) return;
  const x = plot.valToPos(frame.time_s * 1e3, "x", true), { ctx, bbox } = plot;
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = colour("--accent");
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
};
