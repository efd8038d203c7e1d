// Replays the run in the drawing of the topology, with the moment in the charts, and draws the load of each run.
"use strict";
(() => {
  const { data, plots } = charts;
  const slider = document.getElementById("time");
  const state = { frame: 0 };

  const showNow = (plot) => {
    if (!plot.now) return;
    const at = data.replay.times[state.frame], { x, start, end } = plot.scale;
    plot.now.setAttribute("visibility", at >= start && at <= end ? "visible" : "hidden");
    plot.now.setAttribute("x1", x(at));
    plot.now.setAttribute("x2", x(at));
  };

  const SVG = "http://www.w3.org/2000/svg";
  const ROOT_AT = 33, PAST_MIDDLE = 10; // on a link: of a root's ring, between its switch and its port's number; of an arrow
  const ARROW = "M9 0L-7 -8V8Z", RING = "M-8 0a8 8 0 1 0 16 0a8 8 0 1 0 -16 0Z";
  // On the link between two nodes, so far from the first; null: behind its middle
  const place = (figure, shape, from, to, text, at, name) => {
    const line = [...figure.querySelectorAll(".link")].find(({ dataset: { a, b } }) => (a === from && b === to) || (a === to && b === from));
    if (!line) return;
    const mark = document.createElementNS(SVG, "path"), title = document.createElementNS(SVG, "title");
    const length = line.getTotalLength(), along = (far) => line.getPointAtLength(line.dataset.a === from ? far : length - far), far = at === null ? length / 2 + PAST_MIDDLE : at;
    const here = along(far), next = along(far + 1), angle = Math.atan2(next.y - here.y, next.x - here.x) * 180 / Math.PI;
    mark.setAttribute("d", shape);
    mark.setAttribute("transform", `translate(${here.x.toFixed(1)} ${here.y.toFixed(1)}) rotate(${angle.toFixed(1)})${line.classList.contains("below") ? " scale(.6)" : ""}`);
    Object.assign(mark.dataset, name);
    title.textContent = text;
    mark.appendChild(title);
    figure.querySelector("svg").appendChild(mark);
  };
  // What moments show and hide: for each way of PAUSE frames an arrow, at each queue's port a ring
  const mark = () => {
    for (const figure of document.querySelectorAll(".replay")) {
      for (const way of Object.keys(data.replay.runs[+figure.dataset.run].links)) {
        const [from, to] = way.split("->");
        place(figure, ARROW, from, to, `PAUSE frames from ${from} to ${to}`, null, { way });
      }
      for (const { dataset: { port, peer } } of figure.querySelectorAll(".gauge")) place(figure, RING, port.split(":")[0], peer, `${port} is a root`, ROOT_AT, { root: port });
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
        const root = Boolean(run.roots[gauge.dataset.port][state.frame]), name = gauge.querySelector(".port"), ring = figure.querySelector(`[data-root="${gauge.dataset.port}"]`);
        name.textContent = root ? `root ${gauge.dataset.port}` : gauge.dataset.port;
        name.classList.toggle("root", root);
        if (ring) ring.setAttribute("visibility", root ? "visible" : "hidden");
        gauge.querySelector(".note").textContent = waiting >= 1000 ? `${(waiting / 1000).toFixed(1)} MB` : `${Math.round(waiting)} KB`;
      }
      for (const arrow of figure.querySelectorAll("[data-way]")) {
        const way = run.links[arrow.dataset.way];
        arrow.setAttribute("visibility", way.held[state.frame] || way.frames[state.frame] ? "visible" : "hidden");
      }
      for (const text of figure.querySelectorAll("text.rate")) {
        const name = text.dataset.flow.replace(/^flow (\d+)$/, "F$1");
        text.textContent = `${name} ${run.flows[text.dataset.flow][state.frame].toFixed(1)}`;
      }
    }
    for (const moment of document.querySelectorAll("#now, #drawn")) moment.textContent = `${times[state.frame].toFixed(2)} ms`;
    plots.forEach(showNow);
  };

  const startReplay = () => {
    const play = document.getElementById("play");
    mark();
    slider.max = data.replay.times.length - 1;
    const show = (frame) => { state.frame = frame; slider.value = frame; replay(); };
    show(data.replay.opens);
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
      for (const choice of document.querySelectorAll("[data-load]")) choice.setAttribute("aria-pressed", String(choice === button));
    });
  }
  if (slider) {
    for (const plot of plots) plot.addEventListener("draw", () => {
      const { x, inner } = plot.scale;
      plot.now = data.charts[plot.dataset.chart].overTime && x ? plot.querySelector("svg").appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line")) : null;
      if (!plot.now) return;
      for (const [name, value] of [["class", "now"], ["y1", inner.top], ["y2", inner.bottom]]) plot.now.setAttribute(name, value);
      showNow(plot);
    });
  }
  charts.start();
  if (slider) startReplay();
})();
