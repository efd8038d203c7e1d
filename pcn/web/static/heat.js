// A picture of all ports by time: a row a port, or several in one where there are too many, a column a frame.
"use strict";
const Heat = (() => {
  const MOST_HIGH = 420, LEAST_ROW = 3, LARGEST_ROW = 14, LABEL = 13; // px
  const SHADES = 64;

  const rgb = (text) => {
    const digits = text.trim().slice(1), wide = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
    return [0, 2, 4].map((at) => parseInt(wide.slice(at, at + 2), 16));
  };

  return class Heat {
    // `holder` gets the picture; `choose(port, at)` is called for a click, with a row's port and a frame's place
    constructor(holder, note, choose) {
      this.note = note;
      this.canvas = document.createElement("canvas");
      this.mark = document.createElement("div");
      this.mark.className = "moment";
      this.cross = document.createElement("div");
      this.cross.className = "row";
      this.labels = document.createElement("div");
      this.labels.className = "labels";
      const area = document.createElement("div");
      area.className = "area";
      area.append(this.canvas, this.mark, this.cross);
      holder.replaceChildren(this.labels, area);
      this.rows = [];
      this.row = -1;
      area.addEventListener("pointermove", (event) => this.tell(this.under(event)));
      area.addEventListener("pointerleave", () => this.tell(null));
      area.addEventListener("click", (event) => {
        const cell = this.under(event);
        if (cell) choose(cell.port, cell.at);
      });
      holder.addEventListener("keydown", (event) => {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (by && this.rows.length) {
          event.preventDefault();
          this.row = Math.min(Math.max(this.row + by, 0), this.rows.length - 1);
          this.tell(this.cell(this.row, this.at));
        }
        if (event.key === "Enter" && this.row >= 0) choose(this.cell(this.row, this.at).port, this.at);
      });
    }

    // `ports`: names in order, of which a row is for those `wanted`; `named(port)`: as a text has it; `read(frame)`: pairs of a name and a number above 0;
    // `text(number)`; `strongest`: what the strongest colour is, if not the largest number; `nothing`: what there is none of; a colour's CSS value for the largest, and for none
    draw(frames, ports, wanted, named, { read, text, strongest, nothing, most, colour, none }) {
      Object.assign(this, { frames, read, text, strongest, nothing, named });
      const there = new Set();
      for (const frame of frames) for (const [name] of read(frame)) there.add(name);
      const names = ports.filter((name) => there.has(name) && wanted.has(name)), count = Math.min(names.length, Math.floor(MOST_HIGH / LEAST_ROW));
      this.rows = Array.from({ length: count }, () => []);
      const place = new Map();
      names.forEach((name, number) => {
        const row = Math.floor(number * count / names.length);
        this.rows[row].push(name);
        place.set(name, row);
      });
      this.row = Math.min(this.row, count - 1);
      const wide = Math.max(Math.min(frames.length, 2000), 1), cells = new Float32Array(wide * count);
      let largest = most || 0;
      frames.forEach((frame, number) => {
        const column = Math.floor(number * wide / frames.length);
        for (const [name, value] of read(frame)) {
          const row = place.get(name);
          if (row === undefined) continue;
          const cell = row * wide + column;
          if (value > cells[cell]) cells[cell] = value;
          if (value > largest) { largest = value; this.top = { name, time_s: frame.time_s }; }
        }
      });
      this.paint(cells, wide, count, largest, rgb(colour), rgb(none));
      this.largest = largest;
      this.total = names.length;
      this.hidden = ports.filter((name) => there.has(name)).length - names.length;
      this.tell(null);
    }

    paint(cells, wide, count, largest, full, none) {
      const high = Math.min(Math.max(MOST_HIGH / Math.max(count, 1), LEAST_ROW), LARGEST_ROW);
      this.canvas.width = wide;
      this.canvas.height = Math.max(count, 1);
      this.canvas.parentElement.style.height = `${Math.round(high * Math.max(count, 1))}px`;
      const context = this.canvas.getContext("2d"), image = context.createImageData(wide, Math.max(count, 1));
      for (let cell = 0; cell < cells.length; cell++) {
        // By the root, in steps: what is small shows, too
        const shade = largest ? Math.ceil(SHADES * Math.sqrt(cells[cell] / largest)) / SHADES : 0;
        for (let part = 0; part < 3; part++) image.data[4 * cell + part] = none[part] + (full[part] - none[part]) * shade;
        image.data[4 * cell + 3] = 255;
      }
      if (count) context.putImageData(image, 0, 0);
      this.labels.replaceChildren();
      let last = -Infinity, before = "";
      this.rows.forEach((names, row) => {
        const y = row * high, name = names.length > 1 || high < LABEL ? names[0].split(":")[0] : this.named(names[0]);
        if (y - last < LABEL || name === before) return;
        const label = document.createElement("span");
        label.textContent = name;
        label.style.top = `${y.toFixed(0)}px`;
        this.labels.appendChild(label);
        last = y;
        before = name;
      });
    }

    // Where the shown frame is: one element moves
    moment(at) {
      this.at = at;
      const count = this.frames ? this.frames.length : 0;
      this.mark.style.left = `${(count ? 100 * (at + 0.5) / count : 0).toFixed(3)}%`;
      if (this.row >= 0 && this.rows.length) this.tell(this.cell(this.row, at));
    }

    under(event) {
      const box = this.canvas.getBoundingClientRect(), count = this.frames ? this.frames.length : 0;
      if (!this.rows.length || !count) return null;
      const part = (value, size, number) => Math.min(Math.max(Math.floor(value / size * number), 0), number - 1);
      this.row = part(event.clientY - box.top, box.height, this.rows.length);
      return this.cell(this.row, part(event.clientX - box.left, box.width, count));
    }

    // The largest port of a row in a frame
    cell(row, at) {
      const values = new Map(this.read(this.frames[at])), names = this.rows[row];
      const port = names.reduce((best, name) => ((values.get(name) || 0) > (values.get(best) || 0) ? name : best), names[0]);
      return { row, at, port, value: values.get(port) || 0 };
    }

    when({ time_s }) { return `${(time_s * 1e3).toFixed(3)} ms`; }

    tell(cell) {
      this.cross.hidden = !cell;
      if (!cell) {
        this.row = -1;
        const hidden = this.hidden ? `; the search hides ${this.hidden} ${this.hidden === 1 ? "port that has" : "ports that have"}` : "";
        this.note.textContent = this.rows.length ? `${this.total} ${this.total === 1 ? "port" : "ports"}; ${this.strongest || `the strongest colour is ${this.text(this.largest)}, ${this.named(this.top.name)} at ${this.when(this.top)}`}`
          : `no ${this.hidden ? "port of this name" : "port"} has ${this.nothing} in any frame${hidden}`;
        return;
      }
      this.cross.style.top = `${100 * (cell.row + 0.5) / this.rows.length}%`;
      const more = this.rows[cell.row].length - 1;
      this.note.textContent = `${this.when(this.frames[cell.at])}, ${this.named(cell.port)}: ${this.text(cell.value)}${more ? `, the largest of ${more + 1} ports` : ""}`;
    }
  };
})();
