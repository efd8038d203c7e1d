// The network's drawing: what each frame has of links and queues, which port or node a click means, fit and zoom.
"use strict";
const Drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FROM_END = 34; // of a queue's circle, from the middle of its switch
  const BARS = 20; // of the bars of who may not send, from there
  const SMALLEST = 4, LARGEST = 13;
  const STEP = 1.25, PART = 0.15, LEAST_WIDTH = 160; // of a zoom, of a move, and how far it goes
  const LETTER = 12, READABLE = 11, LARGER = 1.4; // px: of the drawing's text, wanted on the screen, at most so much larger
  const LEGIBLE = 10; // px: of that text on a narrow screen, where a drawing is wider than it and scrolls
  const DRAG = 4; // px from which a press moves the drawing

  // In a network whose switches count no bytes, packets
  const waiting = (port) => port.queue_bytes ?? port.queue_packets ?? 0;

  const make = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(element);
    return element;
  };
  // A step touches what it changes alone
  const put = (element, name, value) => { if (element.getAttribute(name) !== value) element.setAttribute(name, value); };
  const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  return class Drawing {
    // `network` as the server describes it; `choose(kind, id)` is called for a click, with a port or a node
    constructor(holder, network, choose) {
      this.steps = network.steps;
      this.holder = holder;
      this.rates = new Map(network.ports.map((end) => [end.port, end.rate_bps]));
      const read = new DOMParser().parseFromString(network.svg, "image/svg+xml");
      this.svg = document.importNode(read.documentElement, true);
      holder.replaceChildren(this.svg);
      const { width, height } = this.svg.viewBox.baseVal;
      this.whole = { x: 0, y: 0, width, height };
      this.hosts = new Map(); // of a rack's box, by its first host
      this.lines = [...this.svg.querySelectorAll("path[data-a]")].map((path) => this.line(path, choose));
      this.ring = make("circle", { class: "chosen", r: LARGEST + 3, visibility: "hidden" }, this.svg);
      this.boxes = [...this.svg.querySelectorAll("g[data-node]")];
      for (const box of this.boxes) box.addEventListener("click", () => choose("node", box.dataset.node));
      this.most = 1;
      this.fit();
      this.readable();
      this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.svg.addEventListener("pointerdown", (event) => this.press(event));
      // what was dragged isn't clicked
      this.svg.addEventListener("click", (event) => { if (this.dragged) event.stopPropagation(); }, { capture: true });
    }

    line(path, choose) {
      path.classList.add("line");
      const length = path.getTotalLength(), far = Math.min(FROM_END, length / 3), title = path.querySelector("title");
      const hit = make("path", { class: "hit", d: path.getAttribute("d") });
      if (title) hit.appendChild(title.cloneNode(true));
      this.svg.insertBefore(hit, this.svg.querySelector("g[data-node]"));
      const beyond = Math.min(BARS, length / 6);
      const ends = [["a", "b", far, far + beyond], ["b", "a", length - far, length - far - beyond]].map(([side, back, at, held]) => {
        const ports = path.dataset[side].split(" "), peers = path.dataset[back].split(" "), { x, y } = path.getPointAtLength(at);
        const { x: left, y: top } = path.getPointAtLength(held), near = path.getPointAtLength(Math.max(held - 1, 0));
        const angle = Math.atan2(top - near.y, left - near.x), [dx, dy] = [Math.cos(angle), Math.sin(angle)];
        const bar = (shift) => `M${left + dx * shift - dy * 7} ${top + dy * shift + dx * 7}L${left + dx * shift + dy * 7} ${top + dy * shift - dx * 7}`;
        const group = make("g", { visibility: "hidden" }, this.svg);
        const circle = make("circle", { class: "queue", cx: x, cy: y, r: SMALLEST }, group);
        const text = make("title", {}, circle);
        const bars = make("path", { class: "bars", d: bar(-3) + bar(3) }, group), holder = make("title", {}, bars);
        const nodes = [...new Set(ports.map((port) => port.split(":")[0]))];
        if (nodes.length > 1) this.hosts.set(nodes[0], nodes);
        const end = { ports, x, y, group, circle, text, bars, holder, peers, busiest: ports[0], stopped: 0, queue: 0, used: 0 };
        group.addEventListener("click", () => choose(...this.target(end)));
        return end;
      });
      // The direction in which something happens: held, with the longer queue, busier; if none is, that of the nearer end
      hit.addEventListener("click", (event) => {
        const at = this.point(event), far = ({ x, y }) => Math.hypot(x - at.x, y - at.y);
        const [first] = [...ends].sort((a, b) => b.stopped - a.stopped || b.queue - a.queue || b.used - a.used || far(a) - far(b));
        choose(...this.target(first));
      });
      return { path, ends };
    }
    // A host has no port among the switches': the host itself
    target({ busiest }) { return this.rates.has(busiest) ? ["port", busiest] : ["node", busiest.split(":")[0]]; }

    // ---- fit and zoom: one attribute of one element ----

    point(event) { return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse()); }

    // The part that is shown, within the whole
    look({ x, y, width }) {
      const { whole } = this, wide = Math.min(Math.max(width, Math.min(LEAST_WIDTH, whole.width)), whole.width), high = wide * whole.height / whole.width;
      this.view = { x: Math.min(Math.max(x, 0), whole.width - wide), y: Math.min(Math.max(y, 0), whole.height - high), width: wide, height: high };
      put(this.svg, "viewBox", [this.view.x, this.view.y, wide, high].map((number) => +number.toFixed(2)).join(" "));
    }
    fit() { this.look(this.whole); }
    isFit() { return this.view.width >= this.whole.width; }
    // Larger by this factor, around a point or the middle
    zoom(factor, { x, y } = { x: this.view.x + this.view.width / 2, y: this.view.y + this.view.height / 2 }) {
      const { view } = this, width = Math.min(Math.max(view.width / factor, LEAST_WIDTH), this.whole.width), part = width / view.width;
      this.look({ x: x - (x - view.x) * part, y: y - (y - view.y) * part, width });
    }
    closer() { this.zoom(STEP); }
    further() { this.zoom(1 / STEP); }
    move(right, down) { this.look({ ...this.view, x: this.view.x + right * PART * this.view.width, y: this.view.y + down * PART * this.view.height }); }
    wheel(event) {
      if (event.deltaY > 0 && this.isFit()) return; // the page scrolls
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? STEP : 1 / STEP, this.point(event));
    }
    press(event) {
      this.dragged = false;
      if (event.button !== 0 || this.isFit()) return;
      const from = { ...this.view }, scale = this.view.width / this.svg.clientWidth, start = [event.clientX, event.clientY];
      const move = ({ clientX, clientY }) => {
        this.dragged ||= Math.hypot(clientX - start[0], clientY - start[1]) > DRAG;
        if (this.dragged) this.look({ ...from, x: from.x - (clientX - start[0]) * scale, y: from.y - (clientY - start[1]) * scale });
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
    }
    // Text of a wide network is larger than the drawing's, as far as its boxes have room
    readable() {
      this.svg.style.setProperty("--legible", `${Math.ceil(LEGIBLE * this.whole.width / (LETTER * LARGER))}px`);
      const scale = this.svg.clientWidth / this.whole.width || 1;
      this.svg.style.fontSize = `${(LETTER * Math.min(Math.max(READABLE / LETTER / scale, 1), LARGER)).toFixed(1)}px`;
    }

    // ---- frames ----

    // Whether a port may not send now: a switch's own word, or, for a host, that of the switch that pauses it
    held(ports, port, peer) {
      const of = ports.get(this.rates.has(port) ? port : peer);
      return Boolean(of && (this.rates.has(port) ? of.paused : of.pausing));
    }

    // The largest queue that is to be drawn, of any frame: circles are comparable
    seen(ports) { for (const port of ports) this.most = Math.max(this.most, waiting(port)); }

    // Lines of these ports stand out: a flow's path
    light(ports) {
      for (const { path, ends } of this.lines) path.classList.toggle("lit", ends.some((end) => end.ports.some((port) => ports.has(port))));
    }

    // The box of a node, or of the rack that it is in, stands out; null: none does
    mark(node) {
      for (const box of this.boxes) box.classList.toggle("marked", node !== null && (this.hosts.get(box.dataset.node) || [box.dataset.node]).includes(node));
    }

    // `ports`, `hosts`: by name, those in use; `chosen`: a port's name
    show(ports, hosts, chosen) {
      let ring = null;
      for (const { path, ends } of this.lines) {
        let used = 0, paused = false, down = false;
        for (const end of ends) {
          const there = end.ports.map((name) => ports.get(name)).filter(Boolean);
          const busiest = there.sort((a, b) => waiting(b) - waiting(a) || b.rate_bps - a.rate_bps)[0];
          const queue = busiest ? waiting(busiest) : 0;
          const stopped = end.ports.filter((port, place) => this.held(ports, port, end.peers[place])), held = stopped.length > 0;
          end.used = Math.max(0, ...[...there, ...end.ports.map((name) => hosts.get(name)).filter(Boolean)].map((sample) => sample.utilisation));
          end.busiest = stopped.find((port) => port === busiest?.port) || stopped[0] || busiest?.port || end.ports[0];
          Object.assign(end, { queue, stopped: stopped.length });
          used = Math.max(used, end.used);
          paused ||= held;
          down ||= there.some((sample) => !sample.up);
          if (end.ports.includes(chosen)) ring = end;
          put(end.group, "visibility", queue || held ? "visible" : "hidden");
          if (queue) {
            put(end.circle, "r", (SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(queue / this.most)).toFixed(1));
            write(end.text, `${busiest.port}: ${busiest.queue_bytes === null ? `${queue} packets` : `${(queue / 1e3).toFixed(1)} KB`} wait${busiest.paused ? ", paused" : ""}`);
          }
          if (held) write(end.holder, `may not send: ${stopped.join(", ")}`);
          put(end.circle, "visibility", queue ? "inherit" : "hidden");
          put(end.bars, "visibility", held ? "inherit" : "hidden");
        }
        const step = this.steps.find(([most]) => used < most) || this.steps[this.steps.length - 1];
        put(path, "stroke", step[1]);
        put(path, "stroke-width", (1.2 + 2.8 * Math.min(used, 1)).toFixed(1));
        if (path.classList.contains("paused") !== paused) path.classList.toggle("paused", paused);
        if (path.classList.contains("down") !== down) path.classList.toggle("down", down);
      }
      if (ring) {
        put(this.ring, "cx", String(ring.x));
        put(this.ring, "cy", String(ring.y));
      }
      put(this.ring, "visibility", ring ? "visible" : "hidden");
    }
  };
})();
