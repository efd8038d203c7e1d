// The page at the shown moment: drawing, tables, texts and heat map in one go.
"use strict";

const redraw = () => {
  if (state.dirty) return;
  state.dirty = true;
  requestAnimationFrame(() => { state.dirty = false; showMoment(); });
};

const showMoment = () => {
  const frame = state.frames[state.at], slider = find("slider"), over = find("overload");
  slider.max = Math.max(state.frames.length - 1, 0);
  slider.value = state.at;
  if (!frame) return;
  const why = state.at === state.opened ? (frame.held.size ? ", where the page opens: most ends of links are held" : frame.waits ? ", where the page opens: the longest queues" : "") : "";
  if (state.over) find("state").textContent = state.at === state.frames.length - 1 ? state.over : `frame ${fixed(state.at + 1, 1, 0)} of ${fixed(state.frames.length, 1, 0)}${why}`;
  find("time").textContent = ms(frame.time_s);
  slider.setAttribute("aria-valuetext", find("time").textContent);
  over.hidden = !frame.pace;
  over.textContent = frame.pace || "";
  const port = state.chosen && state.chosen.kind === "port" ? state.chosen.id : null;
  state.drawing.show(frame.by_port, frame.by_host, port);
  const ports = state.network.ports.filter((end) => (frame.by_port.has(end.port) || end.port === port) && matches(end.port, end.peer)).map((end) => portAt(frame, end.port));
  rows(find("ports"), "port", columnsOf(PORT_COLUMNS), sorted("ports", ports, (sample) => sample.port).slice(0, MOST_ROWS).map((sample) => [sample.port, sample]));
  const idle = state.network.ports.length - frame.by_port.size, hidden = frame.by_port.size - ports.length;
  note("ports-note", [ports.length > MOST_ROWS && `${fixed(ports.length - MOST_ROWS, 1, 0)} more in use`, hidden > 0 && `${fixed(hidden, 1, 0)} with other names`, idle && `${fixed(idle, 1, 0)} idle ports`]);
  const going = frame.flows.filter((flow) => flow.state !== "ended" && flow.state !== "stopped" && flow.state !== "done");
  const flows = going.filter((flow) => matches(String(flow.id), `flow ${flow.id}`, flow.src, flow.dst));
  rows(find("flows"), "flow", columnsOf(FLOW_COLUMNS), sorted("flows", flows, (flow) => flow.id).slice(0, MOST_ROWS).map((flow) => [String(flow.id), flow]));
  note("flows-note", [flows.length > MOST_ROWS && `${fixed(flows.length - MOST_ROWS, 1, 0)} more`, going.length > flows.length && `${fixed(going.length - flows.length, 1, 0)} with other names`,
    frame.flows.length > going.length && `${fixed(frame.flows.length - going.length, 1, 0)} have ended`]);
  const all = find("search").value.trim();
  if (all) note("found", [`"${all}" leaves ${fixed(ports.length, 1, 0)} of ${fixed(ports.length + hidden, 1, 0)} ports and ${fixed(flows.length, 1, 0)} of ${fixed(going.length, 1, 0)} flows; Esc shows all`]);
  const more = showLog(frame);
  note("log-note", [more && `The last ${LOG_ROWS} lines until this moment, of ${fixed(LOG_ROWS + more, 1, 0)}.`, state.over && sampled(frame)], " ");
  facts(frame);
  heat();
  plots();
};

const legend = (steps) => {
  const SVG = "http://www.w3.org/2000/svg", list = find("legend");
  list.replaceChildren();
  const item = (shape, attributes, text) => {
    const line = element("li"), svg = document.createElementNS(SVG, "svg"), drawn = document.createElementNS(SVG, shape);
    svg.setAttribute("viewBox", "0 0 30 14");
    svg.setAttribute("aria-hidden", "true");
    for (const key in attributes) drawn.setAttribute(key, attributes[key]);
    svg.appendChild(drawn);
    line.append(svg, text);
    list.appendChild(line);
  };
  item("path", { d: "M0 7h30", stroke: steps[0][1], "stroke-width": 1.2 + 2.8 * steps[0][0] }, `used share of the link: up to ${share(steps[0][0], 0)}`);
  for (const [most, colour] of steps.slice(1)) item("path", { d: "M0 7h30", stroke: colour, "stroke-width": 1.2 + 2.8 * most }, share(most, 0));
  item("circle", { class: "queue", cx: 15, cy: 7, r: 6 }, "queue");
  if (!state.network.scheme) return;
  item("path", { class: "paused", d: "M0 7h30" }, "PAUSE: an end may not send");
  item("path", { class: "bars", d: "M12 1v12M18 1v12" }, "that end");
  list.appendChild(element("li", "PFC: a switch with a long queue sends PAUSE (XOFF) to its neighbour, which may not send until RESUME (XON)"));
};

const HEATS = {
  queue: { read: (frame) => frame.ports.filter(waits).map((sample) => [sample.port, waits(sample)]), shade: "--queue-heat",
    text: (value) => (inBytes() ? `${fixed(value, 1e3, 1)} KB` : `${fixed(value, 1, 0)} packets`), nothing: "a queue" },
  pause: { read: (frame) => frame.ports.flatMap((sample) => [...(sample.paused ? [[sample.port, 1]] : []), ...(sample.pausing && state.hosts.has(sample.port) ? [[state.hosts.get(sample.port), 1]] : [])]), most: 1, shade: "--pause",
    text: (value) => (value ? "may not send" : "may send"), strongest: "where one has colour, PAUSE holds it: it may not send", nothing: "a PAUSE that holds it" },
  share: { read: (frame) => [...frame.ports, ...frame.hosts].filter((sample) => sample.utilisation > 0).map((sample) => [sample.port, sample.utilisation]), most: 1, shade: "--accent", text: share, strongest: "the strongest colour is a link that is full", nothing: "anything sent" },
};

const heat = () => {
  const since = performance.now() - state.painted;
  if (state.stale && (since > HEAT_EVERY_MS || !state.network.live)) {
    const of = HEATS[find("heat-of").value];
    const ports = [...state.hosts].map(([at, host]) => [host, at]).concat(state.network.ports.map((end) => [end.port, end.peer]));
    const wanted = new Set(ports.filter((names) => matches(...names)).map(([name]) => name));
    state.heat.draw(state.frames, ports.map(([name]) => name), wanted, endName, { ...of, colour: colour(of.shade), none: colour("--back") });
    state.stale = false;
    state.painted = performance.now();
  } else if (state.stale) setTimeout(redraw, HEAT_EVERY_MS - since);
  state.heat.moment(state.at);
};

const refresh = () => { state.stale = true; redraw(); };

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  if (!state.network) return;
  if (state.chosen) choose(state.chosen.kind, state.chosen.id);
  refresh();
});

new ResizeObserver(() => {
  if (state.drawing) state.drawing.readable();
}).observe(find("network"));

new ResizeObserver(() => {
  for (const [plot] of state.plots) plot.setSize({ width: Math.max(find("plots").clientWidth, 200), height: PLOT_HIGH });
}).observe(find("plots"));
