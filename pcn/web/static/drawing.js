// The network's drawing: what each frame has of links and queues, and which port a click means.
"use strict";
const Drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FROM_END = 34; // of a queue's circle, from the middle of its switch
  const SMALLEST = 4, LARGEST = 13;

  // In a network whose switches count no bytes, packets
  const waiting = (port) => port.queue_bytes ?? port.queue_packets ?? 0;

  const make = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(element);
    return element;
  };

  return class Drawing {
    // `network` as the server describes it; `choose(port)` is called for a click
    constructor(holder, network, choose) {
      this.steps = network.steps;
      this.rates = new Map(network.ports.map((one) => [one.port, one.rate_bps]));
      const read = new DOMParser().parseFromString(network.svg, "image/svg+xml");
      this.svg = document.importNode(read.documentElement, true);
      holder.replaceChildren(this.svg);
      holder.classList.toggle("wide", this.svg.viewBox.baseVal.width > 1500);
      this.lines = [...this.svg.querySelectorAll("path[data-a]")].map((path) => this.line(path, choose));
      this.ring = make("circle", { class: "chosen", r: LARGEST + 3, visibility: "hidden" }, this.svg);
      this.most = 1;
    }

    line(path, choose) {
      path.classList.add("line");
      const length = path.getTotalLength(), far = Math.min(FROM_END, length / 3), title = path.querySelector("title");
      const hit = make("path", { class: "hit", d: path.getAttribute("d") });
      if (title) hit.appendChild(title.cloneNode(true));
      this.svg.insertBefore(hit, this.svg.querySelector("g[data-node]"));
      const ends = [["a", far], ["b", length - far]].map(([side, at]) => {
        const ports = path.dataset[side].split(" ").filter((port) => this.rates.has(port));
        if (!ports.length) return null;
        const { x, y } = path.getPointAtLength(at), near = path.getPointAtLength(Math.max(at - 1, 0));
        const angle = Math.atan2(y - near.y, x - near.x), [dx, dy] = [Math.cos(angle), Math.sin(angle)];
        const bar = (shift) => `M${x + dx * shift - dy * 7} ${y + dy * shift + dx * 7}L${x + dx * shift + dy * 7} ${y + dy * shift - dx * 7}`;
        const group = make("g", { visibility: "hidden" }, this.svg);
        const circle = make("circle", { class: "queue", cx: x, cy: y, r: SMALLEST }, group);
        const text = make("title", {}, circle);
        const bars = make("path", { class: "bars", d: bar(-3) + bar(3) }, group);
        const end = { ports, x, y, group, circle, text, bars, busiest: ports[0] };
        group.addEventListener("click", () => choose(end.busiest));
        return end;
      });
      hit.addEventListener("click", (event) => {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
        const there = ends.filter(Boolean).sort((one, other) => Math.hypot(one.x - at.x, one.y - at.y) - Math.hypot(other.x - at.x, other.y - at.y));
        if (there.length) choose(there[0].busiest);
      });
      const known = ends.filter(Boolean), pairs = path.dataset.a.split(" ").map((port, place) => [port, path.dataset.b.split(" ")[place]]);
      // Hosts at the line, each with the rate of its link
      const hosts = pairs.filter(([a, b]) => this.rates.has(a) !== this.rates.has(b))
        .map(([a, b]) => (this.rates.has(a) ? [b.split(":")[0], this.rates.get(a)] : [a.split(":")[0], this.rates.get(b)]));
      return { path, hosts, ends: known };
    }

    // `ports`: by name, those in use; `sent`: bit/s by host, of its flows' rates; `chosen`: a port's name
    show(ports, sent, chosen) {
      for (const port of ports.values()) this.most = Math.max(this.most, waiting(port));
      this.ring.setAttribute("visibility", "hidden");
      for (const { path, hosts, ends } of this.lines) {
        let used = Math.max(0, ...hosts.map(([host, rate]) => (sent.get(host) || 0) / rate)), paused = false, down = false;
        for (const end of ends) {
          const there = end.ports.map((name) => ports.get(name)).filter(Boolean);
          const busiest = there.sort((one, other) => waiting(other) - waiting(one) || other.rate_bps - one.rate_bps)[0];
          end.busiest = busiest ? busiest.port : end.ports[0];
          const queue = busiest ? waiting(busiest) : 0, held = there.some((one) => one.paused);
          for (const one of there) used = Math.max(used, one.utilisation);
          paused ||= held;
          down ||= there.some((one) => !one.up);
          end.group.setAttribute("visibility", queue || held ? "visible" : "hidden");
          end.circle.setAttribute("visibility", queue ? "inherit" : "hidden");
          end.circle.setAttribute("r", (SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(queue / this.most)).toFixed(1));
          end.bars.setAttribute("visibility", held ? "inherit" : "hidden");
          end.text.textContent = busiest ? `${busiest.port}: ${busiest.queue_bytes === null ? `${queue} packets` : `${(queue / 1e3).toFixed(1)} KB`} wait${held ? ", paused" : ""}` : "";
          if (end.ports.includes(chosen)) {
            this.ring.setAttribute("cx", end.x);
            this.ring.setAttribute("cy", end.y);
            this.ring.setAttribute("visibility", "visible");
          }
        }
        const step = this.steps.find(([most]) => used < most) || this.steps[this.steps.length - 1];
        path.setAttribute("stroke", step[1]);
        path.setAttribute("stroke-width", (1.2 + 2.8 * Math.min(used, 1)).toFixed(1));
        path.classList.toggle("paused", paused);
        path.classList.toggle("down", down);
      }
    }
  };
})();
