// The network's drawing: what each frame has of links and queues, and which port a click means.
"use strict";
const Drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FROM_END = 34; // of a queue's circle, from the middle of its switch
  const BARS = 20; // of the bars of who may not send, from there
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
      const beyond = Math.min(BARS, length / 6);
      const ends = [["a", "b", far, far + beyond], ["b", "a", length - far, length - far - beyond]].map(([side, back, at, held]) => {
        const ports = path.dataset[side].split(" "), peers = path.dataset[back].split(" "), { x, y } = path.getPointAtLength(at);
        const { x: left, y: top } = path.getPointAtLength(held), near = path.getPointAtLength(Math.max(held - 1, 0));
        const angle = Math.atan2(top - near.y, left - near.x), [dx, dy] = [Math.cos(angle), Math.sin(angle)];
        const bar = (shift) => `M${left + dx * shift - dy * 7} ${top + dy * shift + dx * 7}L${left + dx * shift + dy * 7} ${top + dy * shift - dx * 7}`;
        const group = make("g", { visibility: "hidden" }, this.svg);
        const circle = make("circle", { class: "queue", cx: x, cy: y, r: SMALLEST }, group);
        const text = make("title", {}, circle);
        const bars = make("path", { class: "bars", d: bar(-3) + bar(3) }, group), who = make("title", {}, bars);
        // A host has no row of its own: its port at the switch has what is known of it
        const end = { ports, peers, x, y, group, circle, text, bars, who };
        end.busiest = this.rates.has(ports[0]) ? ports[0] : peers[0];
        group.addEventListener("click", () => choose(end.busiest));
        return end;
      });
      hit.addEventListener("click", (event) => {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
        const there = [...ends].sort((one, other) => Math.hypot(one.x - at.x, one.y - at.y) - Math.hypot(other.x - at.x, other.y - at.y));
        choose(there[0].busiest);
      });
      return { path, ends };
    }

    // Whether a port may not send now: a switch's own word, or, for a host, that of the switch that pauses it
    held(ports, port, peer) {
      const of = ports.get(this.rates.has(port) ? port : peer);
      return Boolean(of && (this.rates.has(port) ? of.paused : of.pausing));
    }

    // `ports`, `hosts`: by name, those in use; `chosen`: a port's name
    show(ports, hosts, chosen) {
      for (const port of ports.values()) this.most = Math.max(this.most, waiting(port));
      this.ring.setAttribute("visibility", "hidden");
      for (const { path, ends } of this.lines) {
        let used = 0, paused = false, down = false;
        for (const end of ends) {
          const there = end.ports.map((name) => ports.get(name)).filter(Boolean);
          const busiest = there.sort((one, other) => waiting(other) - waiting(one) || other.rate_bps - one.rate_bps)[0];
          if (busiest) end.busiest = busiest.port;
          const queue = busiest ? waiting(busiest) : 0;
          const stopped = end.ports.filter((port, place) => this.held(ports, port, end.peers[place])), held = stopped.length > 0;
          for (const one of [...there, ...end.ports.map((name) => hosts.get(name)).filter(Boolean)]) used = Math.max(used, one.utilisation);
          paused ||= held;
          down ||= there.some((one) => !one.up);
          end.group.setAttribute("visibility", queue || held ? "visible" : "hidden");
          end.circle.setAttribute("visibility", queue ? "inherit" : "hidden");
          end.circle.setAttribute("r", (SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(queue / this.most)).toFixed(1));
          end.bars.setAttribute("visibility", held ? "inherit" : "hidden");
          end.who.textContent = `may not send: ${stopped.join(", ")}`;
          end.text.textContent = busiest ? `${busiest.port}: ${busiest.queue_bytes === null ? `${queue} packets` : `${(queue / 1e3).toFixed(1)} KB`} wait${busiest.paused ? ", paused" : ""}` : "";
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
