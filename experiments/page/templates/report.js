// Draws the page's plots, and replays the run in the drawing of the topology. No library, nothing from elsewhere.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 52, right: 12, top: 10, bottom: 40 };
  const DASHES = { solid: "", dashed: "6 4", dotted: "1.5 3.5", dashdot: "8 3 2 3" };
  const SIZE = 4; // of a point's mark, from its middle

  // Corners at an even angle from each other, every second one nearer where there is an `inner` radius
  const corners = (count, turn, inner) => {
    const points = Array.from({ length: inner ? 2 * count : count }, (_, place) => {
      const angle = turn + (place * 2 * Math.PI) / (inner ? 2 * count : count), radius = SIZE * 1.2 * (inner && place % 2 ? inner : 1);
      return `${(radius * Math.sin(angle)).toFixed(2)} ${(-radius * Math.cos(angle)).toFixed(2)}`;
    });
    return `M${points.join("L")}Z`;
  };
  // The names are matplotlib's
  const MARKS = {
    o: `M${-SIZE} 0a${SIZE} ${SIZE} 0 1 0 ${2 * SIZE} 0a${SIZE} ${SIZE} 0 1 0 ${-2 * SIZE} 0Z`,
    s: corners(4, Math.PI / 4), D: corners(4, 0), "^": corners(3, 0), v: corners(3, Math.PI), "<": corners(3, -Math.PI / 2), ">": corners(3, Math.PI / 2),
    P: corners(4, 0, 0.4), X: corners(4, Math.PI / 4, 0.4), "*": corners(5, 0, 0.4), p: corners(5, 0), h: corners(6, 0), d: "M0 -5L3 0L0 5L-3 0Z",
  };
  const data = JSON.parse(document.getElementById("data").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const tip = document.getElementById("tip");
  const slider = document.getElementById("time");
  const state = { view: 0, frame: 0 };

  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.appendChild(element);
    return element;
  };
  const number = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(4)));

  // Steps of 1, 2 or 5 times a power of ten, about `count` of them
  const ticks = (low, high, count) => {
    const raw = (high - low) / Math.max(count, 1);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw * 0.999);
    const found = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) found.push(+(index * step).toPrecision(12));
    return found;
  };

  // On a logarithmic axis: 1, 2 and 5 times powers of ten, or these alone where there are many
  const logTicks = (low, high, count) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
      for (const factor of [1, 2, 5]) found.push(+(factor * 10 ** power).toPrecision(12));
    }
    const within = found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    return within.length <= count ? within : within.filter((value) => Number.isInteger(+Math.log10(value).toFixed(9)));
  };
  // Between two ends of an axis, and back
  const axis = (log, low, high, from, to) => {
    const least = log ? Math.max(low, 1e-12) : low, place = log ? Math.log : (value) => value, value = log ? Math.exp : (at) => at;
    const start = place(least), span = place(high) - start || 1;
    const at = (of) => from + ((place(log ? Math.max(of, least) : of) - start) / span) * (to - from);
    at.invert = (pixel) => value(start + ((pixel - from) / (to - from)) * span);
    return at;
  };

  // Index of the last x that is at most `at`, -1 if there is none
  const indexAt = (xs, at) => {
    let low = 0, high = xs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= at) low = middle + 1; else high = middle;
    }
    return low - 1;
  };
  // The number of the point of a line whose value holds at x, or that is nearest to it; -1 if there is none. A bin's own alone
  const pointAt = (line, at, binned) => {
    const index = indexAt(line.x, at), last = line.x.length - 1;
    if (binned) return line.x[index] === at ? index : -1;
    if (index < 0 || at > line.x[last]) return -1;
    return line.steps || index === last || at - line.x[index] <= line.x[index + 1] - at ? index : index + 1;
  };

  // The highest value of a panel in this view
  const highest = (panel) => {
    const [start, end] = panel.views[state.view];
    let most = 0;
    for (const line of panel.lines) {
      const first = Math.max(indexAt(line.x, start), 0);
      for (let index = first; index < line.x.length && line.x[index] <= end; index += 1) most = Math.max(most, line.y[index] || 0);
    }
    return most;
  };

  // One scale for all panels of the chart, unless each shows something else of the runs
  const topOf = (chart, own) => {
    const panels = chart.ticks.length ? [own] : chart.panels;
    const cut = Math.max(...panels.map((panel) => panel.views[state.view][2] || 0));
    return cut || Math.max(...panels.map(highest)) * 1.06 || 1;
  };

  // Runs are compared on one axis: a shorter one ends before
  const endOf = (chart) => Math.max(...chart.panels.map((one) => one.views[state.view][1]));

  const pathOf = (line, x, y, start, end) => {
    const first = Math.max(indexAt(line.x, start), 0);
    let path = "", previous = null;
    for (let index = first; index < line.x.length; index += 1) {
      const value = line.y[index];
      if (value === null) { previous = null; continue; }
      const here = [x(line.x[index]).toFixed(1), y(value).toFixed(1)];
      if (previous === null) path += `M${here[0]} ${here[1]}`;
      else path += line.steps ? `H${here[0]}V${here[1]}` : `L${here[0]} ${here[1]}`;
      previous = here;
      if (line.x[index] > end) break;
    }
    return path;
  };

  const draw = (plot) => {
    const chart = data.charts[plot.dataset.chart], panel = chart.panels[+plot.dataset.panel];
    const width = plot.clientWidth, height = plot.clientHeight;
    if (!width || plot.closest("details.fold:not([open])")) return;
    const [start] = panel.views[state.view], end = endOf(chart), top = topOf(chart, panel);
    const marks = panel.marks.filter(([, at]) => at >= start && at <= end), cut = highest(panel) > top;
    const above = marks.length || cut ? 8 + 14 * Math.max(marks.length, 1) : MARGIN.top;
    const low = chart.logY ? Math.min(chart.bottom || 1, top / 2) : 0;
    const values = chart.logY ? logTicks(low, top, height / 25) : ticks(0, top, height / 50), longest = Math.max(...values.map((value) => number(value).length));
    const inner = { left: Math.max(MARGIN.left, 27 + longest * 7), right: width - MARGIN.right, top: above, bottom: height - MARGIN.bottom };
    const x = axis(chart.logX, start, end, inner.left, inner.right), y = axis(chart.logY, low, top, inner.bottom, inner.top);
    plot.replaceChildren();
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}` }, plot);
    const clip = `clip-${plot.dataset.chart}-${plot.dataset.panel}`;
    make("rect", { x: inner.left, y: inner.top - 2, width: inner.right - inner.left, height: inner.bottom - inner.top + 4 }, make("clipPath", { id: clip }, make("defs", {}, svg)));
    for (const value of values) {
      make("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(value), y2: y(value) }, svg);
      make("text", { x: inner.left - 7, y: y(value) + 4, "text-anchor": "end" }, svg, number(value));
    }
    const named = chart.ticks.map((name, value) => [value, name]).filter(([, name]) => name);
    const room = Math.ceil(named.length / Math.max(Math.floor(width / 64), 1));
    const shown = named.length ? named.filter((_, place) => place % room === 0) : (chart.logX ? logTicks(start, end, width / 60) : ticks(start, end, width / 80)).map((value) => [value, number(value)]);
    for (const [value, name] of shown) {
      make("line", { class: "grid", x1: x(value), x2: x(value), y1: inner.top, y2: inner.bottom }, svg);
      make("text", { x: x(value), y: inner.bottom + 16, "text-anchor": "middle" }, svg, name);
    }
    make("text", { class: "axis", x: (inner.left + inner.right) / 2, y: height - 6, "text-anchor": "middle" }, svg, chart.x.replace("\n", ": ").replaceAll("\n", " "));
    make("text", { class: "axis", transform: `translate(12 ${(inner.top + inner.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, svg, chart.y);
    const area = make("g", { "clip-path": `url(#${clip})` }, svg);
    for (const [label, from, to] of panel.bands) {
      const band = make("rect", { class: "band", x: x(from), y: inner.top, width: Math.max(x(to) - x(from), 0), height: inner.bottom - inner.top }, area);
      make("title", {}, band, label);
    }
    for (const line of panel.lines) {
      make("path", { d: pathOf(line, x, y, start, end), stroke: `var(--${line.colour})`, "stroke-width": line.width, "stroke-opacity": line.opacity, "stroke-dasharray": DASHES[line.stroke] }, area);
      points(line, x, y, area);
    }
    // Above the plot, where they cover nothing
    for (const [row, [label, at]] of marks.entries()) {
      make("line", { class: "mark", x1: x(at), x2: x(at), y1: inner.top - 4 - 14 * row, y2: inner.bottom }, svg);
      const right = x(at) > (inner.left + inner.right) * 0.6;
      make("text", { class: "mark", x: x(at) + (right ? -5 : 5), y: inner.top - 5 - 14 * row, "text-anchor": right ? "end" : "start" }, svg, `${label}: ${+at.toPrecision(2)} ms`);
    }
    if (cut) {
      const [, last] = marks[0] || [], left = marks.length && x(last) > (inner.left + inner.right) * 0.6;
      make("text", { class: "mark cut", x: left ? inner.left : inner.right, y: inner.top - 5, "text-anchor": left ? "start" : "end" }, svg, `cut: up to ${number(highest(panel))}`);
    }
    if (panel.empty && !panel.lines.some((line) => line.x.length)) make("text", { x: (inner.left + inner.right) / 2, y: (inner.top + inner.bottom) / 2, "text-anchor": "middle" }, svg, panel.empty);
    make("path", { class: "frame", d: `M${inner.left} ${inner.top}V${inner.bottom}H${inner.right}` }, svg);
    plot.scale = { x, start, end, inner };
    plot.cross = make("line", { class: "cross", y1: inner.top, y2: inner.bottom, visibility: "hidden" }, svg);
    plot.now = chart.overTime && slider ? make("line", { class: "now", y1: inner.top, y2: inner.bottom }, svg) : null;
    showNow(plot);
  };

  // Marks of a line's points, and the intervals of their values
  const points = (line, x, y, area) => {
    if (!line.mark) return;
    const group = make("g", { class: "points", style: `--of: var(--${line.colour})`, stroke: `var(--${line.colour})` }, area);
    line.x.forEach((at, place) => {
      if (line.y[place] === null) return;
      const [low, high] = line.ends.map((values) => values[place]);
      if (low !== null && low !== undefined && high !== null) make("path", { class: "end", d: `M${x(at)} ${y(low)}V${y(high)}` }, group);
      make("path", { class: "point", d: MARKS[line.mark], transform: `translate(${x(at).toFixed(1)} ${y(line.y[place]).toFixed(1)})` }, group);
    });
  };

  const showNow = (plot) => {
    if (!plot.now) return;
    const at = data.replay.times[state.frame], { x, start, end } = plot.scale;
    plot.now.setAttribute("visibility", at >= start && at <= end ? "visible" : "hidden");
    plot.now.setAttribute("x1", x(at));
    plot.now.setAttribute("x2", x(at));
  };

  const hover = (plot, event) => {
    const { start, end } = plot.scale, chart = data.charts[plot.dataset.chart];
    const pointed = plot.scale.x.invert(event.clientX - plot.getBoundingClientRect().left);
    if (pointed < start || pointed > end) { leave(plot); return; }
    const binned = chart.bins.length > 0, at = binned ? Math.min(Math.max(Math.round(pointed), 0), chart.bins.length - 1) : pointed;
    const rows = [], named = (x) => (chart.overTime ? `${x.toFixed(2)} ms` : number(x));
    for (const line of chart.panels[+plot.dataset.panel].lines) {
      const place = pointAt(line, at, binned), value = line.y[place];
      if (value === null || value === undefined) continue;
      const [low, high] = line.ends.map((values) => values[place]), around = line.y[place - 1] === value || line.y[place + 1] === value;
      const interval = low === null || low === undefined || high === null ? "" : ` [${number(low)}, ${number(high)}]`;
      const flows = line.counts.length ? `, ${line.counts[place].toLocaleString("en")} flows` : "";
      // A sample's own value, with its own place where that is another one
      const own = binned || line.steps || around || named(line.x[place]) === named(at) ? "" : ` (at ${named(line.x[place])})`;
      rows.push([line, `${line.label}: ${number(value)}${interval}${flows}${own}`]);
    }
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = binned ? `flows ${chart.bins[at]}` : named(at);
    tip.appendChild(head);
    for (const [line, text] of rows) {
      const row = document.createElement("div");
      sample(line, row);
      row.append(text);
      tip.appendChild(row);
    }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, event.clientX + 14 + box.width > innerWidth ? event.clientX - box.width - 14 : event.clientX + 14)}px`;
    tip.style.top = `${Math.min(Math.max(4, event.clientY - box.height / 2), innerHeight - box.height - 4)}px`;
    plot.cross.setAttribute("x1", plot.scale.x(at));
    plot.cross.setAttribute("x2", plot.scale.x(at));
    plot.cross.setAttribute("visibility", "visible");
  };
  const leave = (plot) => {
    tip.hidden = true;
    if (plot.cross) plot.cross.setAttribute("visibility", "hidden");
  };

  // How a line looks, in front of its name
  const sample = (line, before) => {
    const svg = make("svg", { viewBox: "0 0 34 12" }, before);
    make("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: `var(--${line.colour})`, "stroke-width": Math.max(line.width, 2), "stroke-opacity": line.opacity, "stroke-dasharray": DASHES[line.stroke] }, svg);
    if (line.mark) make("path", { d: MARKS[line.mark], fill: `var(--${line.colour})`, transform: "translate(17 6)" }, svg);
  };

  const legends = () => {
    for (const legend of document.querySelectorAll("div.legend")) {
      const plot = legend.parentElement.querySelector(".plot"), chart = data.charts[plot.dataset.chart], seen = new Map();
      for (const panel of chart.panels) {
        for (const line of panel.lines) if (line.x.length && line.label && !seen.has(line.label)) seen.set(line.label, line);
      }
      for (const line of seen.values()) {
        const item = document.createElement("span");
        sample(line, item);
        item.append(line.label);
        legend.appendChild(item);
      }
      for (const [label] of chart.panels[0].bands) {
        const item = document.createElement("span"), shaded = make("svg", { viewBox: "0 0 34 12" }, item);
        make("rect", { width: 34, height: 12, fill: "var(--muted)", opacity: 0.3 }, shaded);
        item.append(`shaded: ${label}`);
        legend.appendChild(item);
      }
    }
  };

  // The moment that the slider shows, in every drawing of the topology
  const replay = () => {
    const { times, runs, queueMax } = data.replay;
    for (const figure of document.querySelectorAll(".replay")) {
      const run = runs[+figure.dataset.run];
      for (const line of figure.querySelectorAll(".link")) {
        const { a, b } = line.dataset;
        const ways = [`${a}->${b}`, `${b}->${a}`].map((name) => run.links[name]).filter(Boolean);
        const held = ways.some((way) => way.held[state.frame]);
        line.classList.toggle("held", held);
        line.classList.toggle("paused", !held && ways.some((way) => way.frames[state.frame]));
      }
      for (const gauge of figure.querySelectorAll(".gauge")) {
        const waiting = run.queues[gauge.dataset.port][state.frame], scale = gauge.querySelector(".scale"), level = gauge.querySelector(".level");
        const full = +scale.getAttribute("height"), height = queueMax ? Math.min(waiting / queueMax, 1) * full : 0;
        level.setAttribute("height", height.toFixed(1));
        level.setAttribute("y", (+scale.getAttribute("y") + full - height).toFixed(1));
        gauge.querySelector("text").textContent = waiting >= 1000 ? `${(waiting / 1000).toFixed(1)} MB` : `${Math.round(waiting)} KB`;
      }
      for (const text of figure.querySelectorAll("text.rate")) {
        const name = text.dataset.flow.replace(/^flow (\d+)$/, "F$1");
        text.textContent = `${name} ${run.flows[text.dataset.flow][state.frame].toFixed(1)}`;
      }
    }
    document.getElementById("now").textContent = `${times[state.frame].toFixed(2)} ms`;
    plots.forEach(showNow);
  };

  const startReplay = () => {
    const play = document.getElementById("play");
    slider.max = data.replay.times.length - 1;
    const show = (frame) => { state.frame = frame; slider.value = frame; replay(); };
    // Where the page opens: the moment with most links held, or with most PAUSE before it, or with the longest queues
    const total = (parts) => parts.reduce((sum, part) => sum + part, 0);
    const links = (of) => data.replay.times.map((_, frame) => total(data.replay.runs.map((run) => Object.values(run.links).filter((link) => of(link)[frame]).length)));
    const queued = data.replay.times.map((_, frame) => total(data.replay.runs.flatMap((run) => Object.values(run.queues).map((queue) => queue[frame]))));
    const busiest = [links((link) => link.held), links((link) => link.frames), queued].find((counts) => counts.some((count) => count)) || queued;
    show(Math.max(busiest.indexOf(Math.max(...busiest)), 0));
    slider.addEventListener("input", () => { stop(); show(+slider.value); });
    let timer = null;
    const stop = () => { clearInterval(timer); timer = null; play.textContent = "▶"; };
    play.addEventListener("click", () => {
      if (timer !== null) { stop(); return; }
      play.textContent = "❚❚";
      timer = setInterval(() => {
        if (state.frame + 1 >= data.replay.times.length) stop(); else show(state.frame + 1);
      }, 90);
      if (state.frame + 1 >= data.replay.times.length) show(0);
    });
  };

  // One drawing of the network, in the colours of a run's load
  for (const button of document.querySelectorAll("[data-load]")) {
    button.addEventListener("click", () => {
      const lines = document.querySelectorAll("#topology path[data-a]"), shares = data.loads[+button.dataset.load];
      lines.forEach((line, place) => {
        const share = shares[place], [, colour] = data.steps.find(([most]) => share < most) || data.steps[data.steps.length - 1];
        line.setAttribute("stroke", colour);
        line.setAttribute("stroke-width", (1 + 2.5 * Math.min(share, 1)).toFixed(1));
        const title = line.querySelector("title");
        if (title) title.textContent = `${title.textContent.split("; ")[0]}; ${(share * 100).toFixed(0)}% used, of the busier way`;
      });
      for (const other of document.querySelectorAll("[data-load]")) other.setAttribute("aria-pressed", String(other === button));
    });
  }
  const folds = [...document.querySelectorAll("details.fold")];
  for (const fold of folds) fold.addEventListener("toggle", () => { if (fold.open) fold.querySelectorAll(".plot").forEach(draw); });
  const unfold = document.getElementById("unfold");
  if (unfold) unfold.addEventListener("click", () => {
    const opens = unfold.getAttribute("aria-pressed") !== "true";
    for (const fold of folds) fold.open = opens;
    unfold.setAttribute("aria-pressed", String(opens));
    unfold.textContent = opens ? "close all parts" : "open all parts";
  });
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      state.view = +button.dataset.view;
      for (const other of document.querySelectorAll("[data-view]")) other.setAttribute("aria-pressed", String(other === button));
      plots.forEach(draw);
    });
  }
  for (const plot of plots) {
    plot.addEventListener("pointermove", (event) => hover(plot, event));
    plot.addEventListener("pointerdown", (event) => hover(plot, event));
    plot.addEventListener("pointerleave", () => leave(plot));
  }
  addEventListener("beforeprint", () => { document.body.classList.add("printing"); plots.forEach(draw); });
  addEventListener("afterprint", () => { document.body.classList.remove("printing"); plots.forEach(draw); });
  legends();
  const watch = new ResizeObserver((entries) => entries.forEach((entry) => draw(entry.target)));
  plots.forEach((plot) => { draw(plot); watch.observe(plot); });
  if (slider) startReplay();
})();
