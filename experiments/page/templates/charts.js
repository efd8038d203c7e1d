// Draws a page's charts: hides lines, zooms, shows what is below the pointer. No library, nothing from elsewhere.
"use strict";
const charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 52, right: 12, top: 10, bottom: 40 };
  const DASHES = { solid: "", dashed: "6 4", dotted: "1.5 3.5", dashdot: "8 3 2 3" };
  const SIZE = 4; // of a point's mark, from its middle
  const BETWEEN = 84; // px from one mark on a line to the next, where not each point has one
  const LETTER = 7; // px, of an axis's text
  const GROUP = 0.8, UNSEEN = 0.006; // of a category's room, its bars'; a bar of this share of the highest is no more than a line
  const CLOSER = 0.7, BESIDE = 0.2, LEAST = 1e-4; // a zoom's and a move's step, the smallest part of an axis

  // Corners at an even angle from each other, every second one nearer where there is an `inner` radius
  const corners = (count, turn, inner) => {
    const points = Array.from({ length: inner ? 2 * count : count }, (_, place) => {
      const angle = turn + (place * 2 * Math.PI) / (inner ? 2 * count : count), radius = SIZE * 1.2 * (inner && place % 2 ? inner : 1);
      return [radius * Math.sin(angle), -radius * Math.cos(angle)];
    });
    return (x, y) => `M${points.map(([right, down]) => `${(x + right).toFixed(2)} ${(y + down).toFixed(2)}`).join("L")}Z`;
  };
  const disc = (x, y) => `M${(x - SIZE).toFixed(2)} ${y.toFixed(2)}a${SIZE} ${SIZE} 0 1 0 ${2 * SIZE} 0a${SIZE} ${SIZE} 0 1 0 ${-2 * SIZE} 0Z`;
  const thin = (x, y) => `M${x.toFixed(2)} ${(y - 5).toFixed(2)}l3 5l-3 5l-3 -5Z`;
  // The names are matplotlib's
  const MARKS = {
    o: disc, d: thin, s: corners(4, Math.PI / 4), D: corners(4, 0), "^": corners(3, 0), v: corners(3, Math.PI), "<": corners(3, -Math.PI / 2), ">": corners(3, Math.PI / 2),
    P: corners(4, 0, 0.4), X: corners(4, Math.PI / 4, 0.4), "*": corners(5, 0, 0.4), p: corners(5, 0), h: corners(6, 0),
  };
  const data = JSON.parse(document.getElementById("data").textContent);
  // A line without x has those of the line before it
  for (const { panels } of Object.values(data.charts)) for (const { lines } of panels) lines.forEach((line, place) => { line.x = line.x || lines[place - 1].x; });
  const plots = [...document.querySelectorAll(".plot")];
  const tip = document.getElementById("tip");
  // `zooms`: the part of an axis that its charts show, by the axis's name
  const state = { view: 0, hidden: new Set(), zooms: new Map(), plot: null, at: null };
  const chartOf = (plot) => data.charts[plot.dataset.chart];
  const panelOf = (plot) => chartOf(plot).panels[+plot.dataset.panel];
  const visible = (panel) => panel.lines.filter((line) => !state.hidden.has(line.label));

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
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
    const values = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) values.push(+(index * step).toPrecision(12));
    return values;
  };

  // On a logarithmic axis: 1, 2 and 5 times powers of ten, or these alone where there are many
  const logTicks = (low, high, count) => {
    const values = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
      for (const factor of [1, 2, 5]) values.push(+(factor * 10 ** power).toPrecision(12));
    }
    const within = values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    const decades = within.filter((value) => Number.isInteger(+Math.log10(value).toFixed(9)));
    if (within.length < 2) return ticks(low, high, count);
    return within.length <= count ? within : decades.filter((_, place) => place % Math.ceil(decades.length / Math.max(count, 1)) === 0);
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
  // The number of the point of a line whose value holds at x, or that is nearest to it; -1 if there is none. A named x's own alone
  const pointAt = (line, at, exact) => {
    const index = indexAt(line.x, at), last = line.x.length - 1;
    if (exact) return line.x[index] === at ? index : -1;
    if (index < 0 || at > line.x[last]) return -1;
    return line.steps || index === last || at - line.x[index] <= line.x[index + 1] - at ? index : index + 1;
  };
  // The x that values are at, where these are points: bins, names, what an experiment varies
  const stops = (chart, panel) => (chart.stops ? [...new Set(visible(panel).flatMap((line) => line.x))].sort((a, b) => a - b) : null);

  // What a chart shows of its x axis. Runs are compared on one axis: a shorter one ends before
  const wholeOf = (chart, panel) => [panel.views[state.view][0], Math.max(...chart.panels.map((beside) => beside.views[state.view][1]))];
  const rangeOf = (chart, panel) => state.zooms.get(chart.axis) || wholeOf(chart, panel);

  // All that a panel has of y in this part: values, seeds, ends of intervals
  const valuesOf = (chart, panel) => {
    const [start, end] = rangeOf(chart, panel), values = [];
    for (const line of visible(panel)) {
      const first = Math.max(indexAt(line.x, start), 0);
      for (let index = first; index < line.x.length && line.x[index] <= end; index += 1) {
        values.push(line.y[index], ...(line.seeds[index] || []), ...line.ends.map((ends) => ends[index]));
      }
    }
    if (panel.level !== null) values.push(panel.level);
    return values.filter((value) => value !== null && value !== undefined);
  };
  const highest = (chart, panel) => valuesOf(chart, panel).reduce((most, value) => Math.max(most, value), 0);

  // One scale for all panels of the chart, unless each shows something else of the runs
  const topOf = (chart, panel) => {
    const panels = chart.stops ? [panel] : chart.panels;
    const cut = state.zooms.has(chart.axis) ? 0 : Math.max(...panels.map((panel) => panel.views[state.view][2] || 0));
    return cut || Math.max(...panels.map((panel) => highest(chart, panel))) * 1.06 || 1;
  };
  const bottomOf = (chart, panel, top) => {
    const values = valuesOf(chart, panel), least = values.reduce((low, value) => Math.min(low, value), Infinity);
    if (!chart.logY) return least < chart.bottom ? least - (top - least) * 0.05 : chart.bottom;
    const positive = values.filter((value) => value > 0).reduce((low, value) => Math.min(low, value), Infinity);
    return Math.min(chart.bottom || (positive === Infinity ? 1 : positive / 1.2), top / 2);
  };

  // Over bins no line goes across one without a value
  const pathOf = (line, x, y, start, end, bins) => {
    const first = Math.max(indexAt(line.x, start), 0);
    let path = "", previous = null;
    for (let index = first; index < line.x.length; index += 1) {
      const value = line.y[index];
      if (value === null) { previous = null; continue; }
      const here = [x(line.x[index]).toFixed(1), y(value).toFixed(1)];
      if (previous === null || (bins && line.x[index] - line.x[index - 1] > 1)) path += `M${here[0]} ${here[1]}`;
      else path += line.steps ? `H${here[0]}V${here[1]}` : `L${here[0]} ${here[1]}`;
      previous = here;
      if (line.x[index] > end) break;
    }
    return path;
  };

  const textsOf = (chart, panel, start, end, width) => {
    const names = chart.ticks.length ? chart.ticks : chart.bars;
    if (names.length) {
      const named = names.map((name, value) => [value, name]).filter(([value, name]) => name && value >= start && value <= end);
      const longest = Math.max(...named.map(([, name]) => name.length), 1), room = chart.bars.length ? width / Math.max(named.length, 1) : Math.max(64, longest * LETTER);
      const step = chart.bars.length ? 1 : Math.ceil(named.length / Math.max(Math.floor(width / room), 1));
      return named.filter((_, place) => place % step === 0).map(([value, name]) => [value, name.length * LETTER > room && chart.bars.length ? `${name.slice(0, Math.max(Math.floor(room / LETTER) - 1, 1))}…` : name]);
    }
    const few = chart.logX && chart.stops ? stops(chart, panel) : null;
    const values = few && few.length <= 8 ? few.filter((value) => value >= start && value <= end) : chart.logX ? logTicks(start, end, width / 60) : ticks(start, end, width / 80);
    return values.map((value) => [value, number(value)]);
  };

  // In the middle of the axis; a long name as near to it as the plot has room for
  const axisName = (name, inner, width, height, svg) => {
    const text = name.replaceAll("\n", " "), half = text.length * LETTER / 2;
    const middle = Math.max(Math.min((inner.left + inner.right) / 2, width - half), Math.min(half, width / 2));
    make("text", { class: "axis", x: middle, y: height - 6, "text-anchor": "middle" }, svg, text);
  };

  // Along the y axis; narrower letters where the plot, on paper, is lower than the name is long
  const upName = (name, inner, height, svg) => {
    const text = make("text", { class: "axis", "text-anchor": "middle" }, svg, name), length = Math.min(text.getComputedTextLength(), height - 2);
    const middle = Math.max(Math.min((inner.top + inner.bottom) / 2, height - length / 2), length / 2);
    text.setAttribute("transform", `translate(12 ${middle}) rotate(-90)`);
    if (length === height - 2) { text.setAttribute("textLength", length); text.setAttribute("lengthAdjust", "spacingAndGlyphs"); }
  };

  const draw = (plot) => {
    const chart = chartOf(plot), panel = panelOf(plot);
    const width = plot.clientWidth, height = plot.clientHeight;
    if (!width || plot.closest("details.fold:not([open])")) return;
    if (chart.rows.length) { drawRows(plot, chart, panel, width, height); return; }
    const [start, end] = rangeOf(chart, panel), top = topOf(chart, panel);
    const marks = panel.marks.filter(([, at]) => at >= start && at <= end), cut = highest(chart, panel) > top;
    const above = marks.length || cut ? 8 + 14 * Math.max(marks.length, 1) : MARGIN.top;
    const low = bottomOf(chart, panel, top);
    const values = chart.logY ? logTicks(low, top, height / 25) : ticks(low, top, height / 50), longest = Math.max(...values.map((value) => number(value).length));
    const inner = { left: Math.max(MARGIN.left, 27 + longest * LETTER), right: width - MARGIN.right, top: above, bottom: height - MARGIN.bottom };
    const x = axis(chart.logX, start, end, inner.left, inner.right), y = axis(chart.logY, low, top, inner.bottom, inner.top);
    plot.replaceChildren();
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}` }, plot);
    const clip = `clip-${plot.dataset.chart}-${plot.dataset.panel}`;
    make("rect", { x: inner.left, y: inner.top - 2, width: inner.right - inner.left, height: inner.bottom - inner.top + 4 }, make("clipPath", { id: clip }, make("defs", {}, svg)));
    for (const value of values) {
      make("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(value), y2: y(value) }, svg);
      make("text", { x: inner.left - 7, y: y(value) + 4, "text-anchor": "end" }, svg, number(value));
    }
    for (const [value, name] of textsOf(chart, panel, start, end, inner.right - inner.left)) {
      if (!chart.bars.length) make("line", { class: "grid", x1: x(value), x2: x(value), y1: inner.top, y2: inner.bottom }, svg);
      make("text", { x: x(value), y: inner.bottom + 16, "text-anchor": "middle" }, svg, name);
    }
    axisName(chart.x.replace("\n", ": "), inner, width, height, svg);
    upName(chart.y, inner, height, svg);
    const area = make("g", { "clip-path": `url(#${clip})` }, svg);
    for (const [label, from, to] of panel.bands) {
      const band = make("rect", { class: "band", x: x(from), y: inner.top, width: Math.max(x(to) - x(from), 0), height: inner.bottom - inner.top }, area);
      make("title", {}, band, label);
    }
    panel.lines.forEach((line, place) => {
      if (state.hidden.has(line.label)) return;
      if (chart.bars.length) { bars(line, place, panel, x, y, inner, top, area, svg); return; }
      make("path", { class: "line", d: pathOf(line, x, y, start, end, chart.bins.length), stroke: `var(--${line.colour})`, "stroke-width": line.width, "stroke-opacity": line.opacity, "stroke-dasharray": DASHES[line.stroke] }, area);
      if (line.points) points(line, x, y, area);
      else onLine(line, place, panel.lines.length, x, y, start, end, area);
    });
    if (panel.level !== null) make("line", { class: "level", x1: inner.left, x2: inner.right, y1: y(panel.level), y2: y(panel.level) }, area);
    // Above the plot, where they cover nothing
    for (const [row, [label, at]] of marks.entries()) {
      make("line", { class: "mark", x1: x(at), x2: x(at), y1: inner.top - 4 - 14 * row, y2: inner.bottom }, svg);
      // Beside its line, on the side with more room; moved where neither side has enough
      const text = `${label}: ${+at.toPrecision(2)} ms`, wide = text.length * LETTER, right = x(at) > (inner.left + inner.right) * 0.6;
      const place = right ? Math.max(x(at) - 5, wide) : Math.max(Math.min(x(at) + 5, width - wide), 0);
      make("text", { class: "mark", x: place, y: inner.top - 5 - 14 * row, "text-anchor": right ? "end" : "start" }, svg, text);
    }
    if (cut) {
      const [, last] = marks[0] || [], left = marks.length && x(last) > (inner.left + inner.right) * 0.6;
      make("text", { class: "mark cut", x: left ? inner.left : inner.right, y: inner.top - 5, "text-anchor": left ? "start" : "end" }, svg, `cut: up to ${number(highest(chart, panel))}`);
    }
    if (panel.empty && !panel.lines.some((line) => line.x.length)) make("text", { x: (inner.left + inner.right) / 2, y: (inner.top + inner.bottom) / 2, "text-anchor": "middle" }, svg, panel.empty);
    make("path", { class: "frame", d: `M${inner.left} ${inner.top}V${inner.bottom}H${inner.right}` }, svg);
    plot.scale = { x, start, end, inner };
    plot.cross = make("line", { class: "cross", y1: inner.top, y2: inner.bottom, visibility: "hidden" }, svg);
    plot.range = make("rect", { class: "range", y: inner.top, height: inner.bottom - inner.top, visibility: "hidden" }, svg);
    plot.dispatchEvent(new Event("draw"));
  };

  // Marks of a line's points, the intervals of their values, and each seed's
  const points = (line, x, y, area) => {
    const group = make("g", { class: "points", style: `--of: var(--${line.colour})`, stroke: `var(--${line.colour})` }, area);
    line.x.forEach((at, place) => {
      if (line.y[place] === null) return;
      const [low, high] = endsOf(line, place);
      if (low !== null) make("path", { class: "end", d: `M${x(at).toFixed(1)} ${y(low).toFixed(1)}V${y(high).toFixed(1)}` }, group);
      make("path", { class: "point", d: MARKS[line.mark](x(at), y(line.y[place])) }, group);
      for (const seed of line.seeds[place] || []) make("circle", { class: "seed", cx: x(at).toFixed(1), cy: y(seed).toFixed(1), r: 2 }, group);
    });
  };
  // Both ends of a value's interval, or nulls
  const endsOf = (line, place) => {
    const [low, high] = line.ends.map((values) => values[place]);
    return low === null || low === undefined || high === null ? [null, null] : [low, high];
  };
  // Marks on a line of many values, each at a value: lines differ for any eyes, and in print
  const onLine = (line, place, count, x, y, start, end, area) => {
    if (!line.mark) return;
    let path = "", next = x(start) + (BETWEEN * (place + 0.5)) / count;
    for (let index = Math.max(indexAt(line.x, start), 0); index < line.x.length && line.x[index] <= end; index += 1) {
      const at = x(line.x[index]);
      if (at < next || line.y[index] === null) continue;
      path += MARKS[line.mark](at, y(line.y[index]));
      while (next <= at) next += BETWEEN;
    }
    if (path) make("path", { class: "point", d: path, style: `--of: var(--${line.colour})`, "fill-opacity": line.opacity }, area);
  };
  const bars = (line, place, panel, x, y, inner, top, area, svg) => {
    const shown = visible(panel), width = GROUP / shown.length, aside = (shown.indexOf(line) - (shown.length - 1) / 2) * width;
    const group = make("g", { class: "bars", style: `--of: var(--${line.colour})` }, area);
    line.x.forEach((at, index) => {
      const value = line.y[index];
      if (value === null) return;
      const from = x(at + aside - 0.45 * width), to = x(at + aside + 0.45 * width), middle = (from + to) / 2, zero = Math.min(y(0), inner.bottom);
      make("rect", { class: "bar", x: from.toFixed(1), width: Math.max(to - from, 0.5).toFixed(1), y: Math.min(y(value), zero - 1).toFixed(1), height: Math.max(Math.abs(zero - y(value)), 1).toFixed(1) }, group);
      make("path", { class: "sign", d: MARKS[line.mark](middle, zero - 9) }, group);
      if (value <= UNSEEN * top) make("text", { x: middle, y: zero - 18, "text-anchor": "middle" }, group, number(value));
      else seedsOf(line, index, (seed) => [middle, y(seed)], group);
    });
  };
  const seedsOf = (line, place, at, group) => {
    const [low, high] = endsOf(line, place);
    if (low !== null) {
      const [from, to] = [at(low), at(high)];
      make("path", { class: "spread", d: `M${from.join(" ")}L${to.join(" ")}` }, group);
    }
    for (const seed of line.seeds[place] || []) {
      const [right, down] = at(seed);
      make("circle", { class: "seed", cx: right.toFixed(1), cy: down.toFixed(1), r: 2 }, group);
    }
  };

  // Bars to the right, by name from top to bottom
  const drawRows = (plot, chart, panel, width, height) => {
    const longest = Math.min(Math.max(...chart.rows.map((name) => name.length)), Math.floor(width / 2 / LETTER));
    const inner = { left: 14 + longest * LETTER, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const values = valuesOf({ ...chart, axis: "" }, panel), most = Math.max(0, ...values) * 1.06 || 1, least = Math.min(0, ...values) * 1.06;
    const x = axis(false, least, most, inner.left, inner.right), y = axis(false, -0.5, chart.rows.length - 0.5, inner.top, inner.bottom);
    plot.replaceChildren();
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}` }, plot);
    for (const value of ticks(least, most, width / 80)) {
      make("line", { class: "grid", x1: x(value), x2: x(value), y1: inner.top, y2: inner.bottom }, svg);
      make("text", { x: x(value), y: inner.bottom + 16, "text-anchor": "middle" }, svg, number(value));
    }
    chart.rows.forEach((name, row) => make("text", { class: "axis", x: inner.left - 7, y: y(row) + 4, "text-anchor": "end" }, svg, name.length > longest ? `${name.slice(0, longest - 1)}…` : name));
    axisName(chart.x, inner, width, height, svg);
    for (const line of visible(panel)) {
      const group = make("g", { class: "bars", style: `--of: var(--${line.colour})` }, svg);
      line.x.forEach((row, place) => {
        const value = line.y[place], high = (y(1) - y(0)) * 0.35;
        if (value === null) return;
        make("rect", { class: "bar", x: Math.min(x(0), x(value)).toFixed(1), width: Math.max(Math.abs(x(value) - x(0)), 1).toFixed(1), y: (y(row) - high).toFixed(1), height: (2 * high).toFixed(1) }, group);
        seedsOf(line, place, (seed) => [x(seed), y(row)], group);
      });
    }
    if (panel.level !== null) make("line", { class: "level", x1: x(panel.level), x2: x(panel.level), y1: inner.top, y2: inner.bottom }, svg);
    make("path", { class: "frame", d: `M${inner.left} ${inner.top}V${inner.bottom}H${inner.right}` }, svg);
    plot.scale = { y, inner, rows: true };
    plot.cross = make("line", { class: "cross", x1: inner.left, x2: inner.right, visibility: "hidden" }, svg);
    plot.dispatchEvent(new Event("draw"));
  };

  // ---- what is below the pointer, or where arrows have gone ----

  const named = (chart, at) => {
    if (chart.bins.length) return `flows ${chart.bins[at]}`;
    const names = chart.ticks.length ? chart.ticks : chart.bars.length ? chart.bars : chart.rows;
    return names.length ? names[at] || chart.x || "" : chart.overTime ? `${at.toFixed(2)} ms` : number(at);
  };

  // The stop that is nearest on the screen
  const nearest = (places, pixel, scale) => places.reduce((best, place) => (Math.abs(scale(place) - pixel) < Math.abs(scale(best) - pixel) ? place : best), places[0]);

  const rowsAt = (chart, panel, at) => {
    const rows = [], exact = chart.stops;
    for (const line of visible(panel)) {
      const place = pointAt(line, at, exact), value = line.y[place];
      if (value === null || value === undefined) continue;
      const [low, high] = endsOf(line, place), around = line.y[place - 1] === value || line.y[place + 1] === value;
      const interval = low === null ? "" : ` [${number(low)}, ${number(high)}]`;
      const seeds = (line.seeds[place] || []).length, over = seeds > 1 ? `, mean of ${seeds} seeds` : "";
      const flows = line.counts.length ? `, ${line.counts[place].toLocaleString("en")} flows` : "";
      // A sample's own value, with its own place where that is another one
      const pointText = exact || line.steps || around || named(chart, line.x[place]) === named(chart, at) ? "" : ` (at ${named(chart, line.x[place])})`;
      rows.push([line, `${line.label || named(chart, at)}: ${number(value)}${interval}${over}${flows}${pointText}`]);
    }
    return rows;
  };

  const show = (plot, at, left, top) => {
    const chart = chartOf(plot), { x, y, rows } = plot.scale;
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = named(chart, at);
    tip.appendChild(head);
    for (const [line, text] of rowsAt(chart, panelOf(plot), at)) {
      const row = document.createElement("div");
      sample(line, row, chart);
      row.append(text);
      tip.appendChild(row);
    }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, left + 14 + box.width > innerWidth ? left - box.width - 14 : left + 14)}px`;
    tip.style.top = `${Math.min(Math.max(4, top - box.height / 2), innerHeight - box.height - 4)}px`;
    for (const end of ["1", "2"]) plot.cross.setAttribute(rows ? `y${end}` : `x${end}`, rows ? y(at) : x(at));
    plot.cross.setAttribute("visibility", "visible");
    Object.assign(state, { plot, at });
  };

  const hover = (plot, event) => {
    if (!plot.scale) return;
    const box = plot.getBoundingClientRect(), { x, y, inner, start, end, rows } = plot.scale, chart = chartOf(plot);
    const right = event.clientX - box.left, down = event.clientY - box.top, places = stops(chart, panelOf(plot));
    if (right < inner.left || right > inner.right || (places && !places.length)) { leave(plot); return; }
    if (rows) { show(plot, nearest(places, down, y), event.clientX, event.clientY); return; }
    const pointed = x.invert(right), within = places && places.filter((place) => place >= start && place <= end);
    if (within && !within.length) { leave(plot); return; }
    show(plot, within ? nearest(within, right, x) : pointed, event.clientX, event.clientY);
  };
  const leave = (plot) => {
    tip.hidden = true;
    if (plot.cross) plot.cross.setAttribute("visibility", "hidden");
  };

  // Arrows go from value to value, or by a fiftieth of the axis
  const step = (plot, towards) => {
    const { x, y, start, end, inner, rows } = plot.scale, chart = chartOf(plot), box = plot.getBoundingClientRect();
    const places = (stops(chart, panelOf(plot)) || []).filter((place) => rows || (place >= start && place <= end));
    const old = state.plot === plot ? state.at : null;
    let at;
    if (places.length) {
      const index = old === null ? -1 : places.indexOf(old);
      at = places[Math.min(Math.max(index < 0 ? (towards > 0 ? 0 : places.length - 1) : index + towards, 0), places.length - 1)];
    } else {
      const pixel = old === null || old < start || old > end ? (towards > 0 ? inner.left : inner.right) : x(old) + (towards * (inner.right - inner.left)) / 50;
      at = x.invert(Math.min(Math.max(pixel, inner.left), inner.right));
    }
    show(plot, at, box.left + (rows ? inner.left : x(at)), box.top + (rows ? y(at) : box.height / 2));
  };

  // ---- a part of an axis, in all charts that have it ----

  const zoom = (name, range) => {
    if (range) state.zooms.set(name, range); else state.zooms.delete(name);
    for (const plot of plots) if (chartOf(plot).axis === name) { leave(plot); draw(plot); }
    for (const button of document.querySelectorAll("button.whole")) button.hidden = !state.zooms.has(button.dataset.axis);
  };
  const zoomTo = (plot, from, to) => {
    const chart = chartOf(plot), { x, inner } = plot.scale, [low, high] = wholeOf(chart, panelOf(plot));
    const whole = axis(chart.logX, low, high, 0, 1), ends = [from, to].map((pixel) => Math.min(Math.max(whole(x.invert(pixel)), 0), 1));
    if (ends[1] - ends[0] < LEAST || inner.right <= inner.left) return;
    zoom(chart.axis, ends[0] <= 0 && ends[1] >= 1 ? null : ends.map((end) => whole.invert(end)));
  };
  const zoomBy = (plot, factor, aside = 0) => {
    const { inner, x } = plot.scale, span = inner.right - inner.left, chart = chartOf(plot);
    const at = factor < 1 && state.plot === plot && !tip.hidden ? x(state.at) : (inner.left + inner.right) / 2;
    let from = at - (at - inner.left) * factor + aside * span, to = at + (inner.right - at) * factor + aside * span;
    if (aside) {
      const [low, high] = wholeOf(chart, panelOf(plot)), [first, last] = [x(low), x(high)];
      const shift = Math.max(first - from, 0) - Math.max(to - last, 0);
      from += shift; to += shift;
    }
    zoomTo(plot, from, to);
  };
  const KEYS = {
    ArrowRight: (plot) => step(plot, 1), ArrowLeft: (plot) => step(plot, -1), ArrowDown: (plot) => step(plot, 1), ArrowUp: (plot) => step(plot, -1),
    "+": (plot) => zoomBy(plot, CLOSER), "=": (plot) => zoomBy(plot, CLOSER), "-": (plot) => zoomBy(plot, 1 / CLOSER), 0: (plot) => zoom(chartOf(plot).axis, null),
    "<": (plot) => zoomBy(plot, 1, -BESIDE), ">": (plot) => zoomBy(plot, 1, BESIDE), Escape: leave,
  };
  const press = (plot, event) => {
    if (!plot.scale || !(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (plot.scale.rows && "+=-0<>".includes(event.key)) return;
    event.preventDefault();
    KEYS[event.key](plot);
  };
  const drag = (plot, event) => {
    if (event.button || !plot.scale || plot.scale.rows) return;
    const { inner } = plot.scale, left = plot.getBoundingClientRect().left, inside = (at) => Math.min(Math.max(at.clientX - left, inner.left), inner.right);
    const from = inside(event);
    const move = (at) => {
      const ends = [from, inside(at)].sort((a, b) => a - b);
      plot.range.setAttribute("visibility", ends[1] - ends[0] > 5 ? "visible" : "hidden");
      plot.range.setAttribute("x", ends[0]);
      plot.range.setAttribute("width", ends[1] - ends[0]);
    };
    const end = (at) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      plot.range.setAttribute("visibility", "hidden");
      const ends = [from, inside(at)].sort((a, b) => a - b);
      if (at.type === "pointerup" && ends[1] - ends[0] > 5) zoomTo(plot, ...ends);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  };

  // ---- legends, whose names hide their lines ----

  // How a line looks, in front of its name
  const sample = (line, before, chart) => {
    const svg = make("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, before);
    if (chart && (chart.bars.length || chart.rows.length)) make("rect", { x: 8, width: 18, height: 12, fill: `var(--${line.colour})` }, svg);
    else make("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: `var(--${line.colour})`, "stroke-width": Math.max(line.width, 2), "stroke-opacity": line.opacity, "stroke-dasharray": DASHES[line.stroke] }, svg);
    if (line.mark) make("path", { class: chart && chart.bars.length ? "sign" : "", d: MARKS[line.mark](17, 6), fill: `var(--${line.colour})`, stroke: "none" }, svg);
  };
  const hide = (label) => {
    if (!state.hidden.delete(label)) state.hidden.add(label);
    for (const button of document.querySelectorAll("div.legend button[data-label]")) {
      if (button.dataset.label === label) button.setAttribute("aria-pressed", String(!state.hidden.has(label)));
    }
    plots.forEach(draw);
  };
  const legends = () => {
    for (const legend of document.querySelectorAll("div.legend")) {
      const beside = [...legend.parentElement.querySelectorAll(".plot")], seen = new Map(), levels = new Set(), bands = new Set(), axes = new Map();
      for (const plot of beside) {
        const chart = chartOf(plot);
        for (const line of panelOf(plot).lines) if (line.x.length && line.label && !seen.has(line.label)) seen.set(line.label, [line, chart]);
        for (const [label] of panelOf(plot).bands) bands.add(label);
        if (panelOf(plot).levelText) levels.add(panelOf(plot).levelText);
        if (!chart.rows.length) axes.set(chart.axis, chart);
      }
      for (const [line, chart] of seen.values()) {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.label = line.label;
        button.setAttribute("aria-pressed", "true");
        button.title = `hide or show ${line.label} in all charts`;
        sample(line, button, chart);
        button.append(line.label);
        button.addEventListener("click", () => hide(line.label));
        legend.appendChild(button);
      }
      for (const label of levels) {
        const entry = document.createElement("span"), picture = make("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, entry);
        make("line", { class: "level", x1: 0, x2: 34, y1: 6, y2: 6 }, picture);
        entry.append(label);
        legend.appendChild(entry);
      }
      for (const label of bands) {
        const entry = document.createElement("span"), shaded = make("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, entry);
        make("rect", { width: 34, height: 12, fill: "var(--muted)", opacity: 0.3 }, shaded);
        entry.append(`shaded: ${label}`);
        legend.appendChild(entry);
      }
      for (const name of axes.keys()) {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", className: "whole", textContent: "whole axis", hidden: true });
        button.dataset.axis = name;
        button.addEventListener("click", () => zoom(name, null));
        legend.appendChild(button);
      }
    }
  };

  const look = (view) => { state.view = view; state.zooms.clear(); zoom("", null); plots.forEach(draw); };

  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      look(+button.dataset.view);
      for (const choice of document.querySelectorAll("[data-view]")) choice.setAttribute("aria-pressed", String(choice === button));
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
  for (const plot of plots) {
    plot.tabIndex = 0;
    plot.addEventListener("pointermove", (event) => hover(plot, event));
    plot.addEventListener("pointerdown", (event) => { hover(plot, event); drag(plot, event); });
    plot.addEventListener("pointerleave", () => leave(plot));
    plot.addEventListener("blur", () => leave(plot));
    plot.addEventListener("keydown", (event) => press(plot, event));
    plot.addEventListener("dblclick", () => zoom(chartOf(plot).axis, null));
  }
  // What folds on a screen and belongs to a report on paper is open while it is printed
  const unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded.push(...document.querySelectorAll("details[data-print]:not([open])"));
    unfolded.forEach((part) => { part.open = true; });
    document.body.classList.add("printing");
    plots.forEach(draw);
  });
  addEventListener("afterprint", () => {
    unfolded.splice(0).forEach((part) => { part.open = false; });
    document.body.classList.remove("printing");
    plots.forEach(draw);
  });
  const start = () => {
    legends();
    for (const [name, from, to] of data.zooms || []) zoom(name, [from, to]);
    const watch = new ResizeObserver((entries) => entries.forEach((entry) => draw(entry.target)));
    plots.forEach((plot) => { draw(plot); watch.observe(plot); });
    // What scrolls sideways does so by keys, too
    const reach = new ResizeObserver((entries) => entries.forEach(({ target }) => {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0; else target.removeAttribute("tabindex");
    }));
    document.querySelectorAll(".scroll").forEach((part) => reach.observe(part));
  };
  return { data, plots, start };
})();
