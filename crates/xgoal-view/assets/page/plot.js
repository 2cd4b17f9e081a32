// Points in a canvas, drawn into its pixels: no graphics card is needed, and 200,000 points are a few
// tens of milliseconds.
const UNIT = 65535;
const EDGE = 16; // pixels around the picture, so that a disc at its rim needs no test

function discs(radius) {
  const reach = Math.ceil(radius);
  const out = { dx: [], dy: [], cover: [] };
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
      if (cover > 0.02) {
        out.dx.push(x);
        out.dy.push(y);
        out.cover.push(cover);
      }
    }
  }
  return out;
}

class Plot {
  // `xy`: two 16-bit numbers per point; `nodes`: whose they are, or null for all in order.
  constructor(host, xy, nodes) {
    this.host = host;
    this.xy = xy;
    this.nodes = nodes;
    this.length = xy.length / 2;
    this.zoom = 1;
    this.moved = [0, 0];
    this.base = host.appendChild(document.createElement("canvas"));
    this.top = host.appendChild(document.createElement("canvas"));
    for (const canvas of [this.base, this.top]) canvas.setAttribute("aria-hidden", "true");
    this.pending = false;
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.host;
    // What is printed is what was on the screen: paper has no next frame to draw in.
    if (!w || !h || matchMedia("print").matches) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    if (w === this.width && h === this.height && ratio === this.ratio) return;
    Object.assign(this, { width: w, height: h, ratio });
    for (const canvas of [this.base, this.top]) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    this.image = new ImageData(this.base.width + 2 * EDGE, this.base.height + 2 * EDGE);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (this.width) this.draw();
    });
  }

  // Screen = offset + number * scale, in CSS pixels; up on the plane is up on the screen.
  view() {
    const side = (Math.min(this.width, this.height) - 24) * this.zoom;
    const scale = side / UNIT;
    return {
      scale,
      x: this.width / 2 + this.moved[0] - side / 2,
      y: this.height / 2 + this.moved[1] + side / 2,
    };
  }

  at(point) {
    const { scale, x, y } = this.view();
    return [x + this.xy[2 * point] * scale, y - this.xy[2 * point + 1] * scale];
  }

  radius() {
    const room = Math.sqrt((this.width * this.height) / Math.max(1, this.length));
    return Math.min(6, Math.max(0.8, 0.16 * room) * Math.pow(this.zoom, 0.35));
  }

  draw() {
    const { pixels, image, ratio } = this;
    const [r, g, b] = background();
    pixels.fill((0xff000000 | (b << 16) | (g << 8) | r) >>> 0);
    const all = state.emphasis === null;
    if (!all) this.stamp(0.1, (node) => !state.emphasis(node));
    this.stamp(0.8, all ? null : state.emphasis);
    this.base.getContext("2d").putImageData(image, -EDGE, -EDGE);
    this.drawRings(ratio);
  }

  // Everything in one picture, for paper: Chromium prints what was done to a canvas, and clearing the upper one would
  // clear what is below it.
  flatten() {
    if (!this.width) return;
    this.draw();
    this.base.getContext("2d").drawImage(this.top, 0, 0);
  }

  stamp(opacity, wanted) {
    const { pixels, nodes, xy, length, ratio } = this;
    const width = this.image.width;
    const limit = [this.base.width + EDGE - 1, this.base.height + EDGE - 1];
    const { scale, x: left, y: bottom } = this.view();
    const radius = Math.min(EDGE - 2, this.radius() * ratio);
    const disc = discs(radius);
    const size = disc.dx.length;
    const offsets = new Int32Array(size);
    const covers = new Int32Array(size);
    for (let i = 0; i < size; i++) {
      offsets[i] = disc.dy[i] * width + disc.dx[i];
      covers[i] = Math.round(128 * opacity * disc.cover[i]);
    }
    const colours = state.colours;
    const low = -EDGE + Math.ceil(radius) + 1;
    const reach = Math.ceil(radius) + 1;
    for (let p = 0; p < length; p++) {
      const node = nodes ? nodes[p] : p;
      if (wanted && !wanted(node)) continue;
      const x = Math.round((left + xy[2 * p] * scale) * ratio);
      const y = Math.round((bottom - xy[2 * p + 1] * scale) * ratio);
      if (x < low || y < low || x > limit[0] - reach || y > limit[1] - reach) continue;
      const colour = colours[node];
      const redBlue = colour & 0xff00ff;
      const green = colour & 0x00ff00;
      const middle = (y + EDGE) * width + x + EDGE;
      for (let i = 0; i < size; i++) {
        const at = middle + offsets[i];
        const under = pixels[at];
        const rb = under & 0xff00ff;
        const g = under & 0x00ff00;
        const cover = covers[i];
        pixels[at] =
          (0xff000000 |
            ((rb + (((redBlue - rb) * cover) >> 7)) & 0xff00ff) |
            ((g + (((green - g) * cover) >> 7)) & 0x00ff00)) >>> 0;
      }
    }
  }

  // Rings around the chosen node, its nearest ones and the one under the pointer.
  drawRings(ratio) {
    const pen = this.top.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink");
    const size = this.radius() + 4;
    const ring = (point, radius, width) => {
      pen.beginPath();
      pen.arc(...this.at(point), radius, 0, 2 * Math.PI);
      pen.lineWidth = width;
      pen.stroke();
    };
    pen.strokeStyle = ink;
    if (state.chosen !== null) {
      const own = this.pointOf(state.chosen);
      for (const { node } of nearestOf(state.chosen)) {
        const point = this.pointOf(node);
        if (point === -1) continue;
        if (own !== -1) {
          pen.globalAlpha = 0.35;
          pen.beginPath();
          pen.moveTo(...this.at(own));
          pen.lineTo(...this.at(point));
          pen.lineWidth = 1;
          pen.stroke();
        }
        pen.globalAlpha = 1;
        ring(point, size, 1.5);
      }
      pen.strokeStyle = style.getPropertyValue("--focus");
      if (own !== -1) ring(own, size + 2, 3);
    }
    pen.strokeStyle = ink;
    if (state.hover !== null && state.hover !== state.chosen) {
      const point = this.pointOf(state.hover);
      if (point !== -1) ring(point, size, 2);
    }
  }

  pointOf(node) {
    if (!this.nodes) return node;
    if (!this.places) this.places = new Map(Array.from(this.nodes, (n, p) => [n, p]));
    return this.places.has(node) ? this.places.get(node) : -1;
  }

  // The point nearest to a place on the screen, within some pixels; -1 if there is none.
  pick(x, y, within = 14) {
    if (!this.grid) this.grid = new Grid(this.xy);
    const view = this.view();
    const point = this.grid.nearest((x - view.x) / view.scale, (view.y - y) / view.scale, within / view.scale);
    return point === -1 ? null : this.nodes ? this.nodes[point] : point;
  }

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(200, Math.max(0.5, this.zoom * factor));
    const share = zoom / this.zoom;
    this.moved = [
      x - this.width / 2 - (x - this.width / 2 - this.moved[0]) * share,
      y - this.height / 2 - (y - this.height / 2 - this.moved[1]) * share,
    ];
    this.zoom = zoom;
    this.redraw();
  }

  moveBy(x, y) {
    this.moved = [this.moved[0] + x, this.moved[1] + y];
    this.redraw();
  }

  whole() {
    this.zoom = 1;
    this.moved = [0, 0];
    this.redraw();
  }

  // Moves so that a node is well inside the picture.
  show(node) {
    const point = this.pointOf(node);
    if (point === -1) return;
    const [x, y] = this.at(point);
    const inside = x > 40 && y > 40 && x < this.width - 40 && y < this.height - 40;
    if (!inside) this.moveBy(this.width / 2 - x, this.height / 2 - y);
  }
}

// Points in 256 x 256 cells.
class Grid {
  constructor(xy) {
    this.xy = xy;
    const n = xy.length / 2;
    const cell = new Uint16Array(n);
    this.starts = new Uint32Array(65537);
    for (let p = 0; p < n; p++) {
      cell[p] = ((xy[2 * p + 1] >> 8) << 8) | (xy[2 * p] >> 8);
      this.starts[cell[p] + 1]++;
    }
    for (let c = 0; c < 65536; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    this.points = new Uint32Array(n);
    for (let p = 0; p < n; p++) this.points[next[cell[p]]++] = p;
  }

  nearest(x, y, within) {
    const clamp = (v) => Math.min(255, Math.max(0, v >> 8));
    const [x0, x1, y0, y1] = [x - within, x + within, y - within, y + within].map((v) => clamp(Math.round(v)));
    let best = -1;
    let least = within * within;
    for (let cy = y0; cy <= y1; cy++) {
      for (let i = this.starts[(cy << 8) | x0]; i < this.starts[((cy << 8) | x1) + 1]; i++) {
        const p = this.points[i];
        const distance = (this.xy[2 * p] - x) ** 2 + (this.xy[2 * p + 1] - y) ** 2;
        if (distance <= least) {
          least = distance;
          best = p;
        }
      }
    }
    return best;
  }
}

function background() {
  const text = getComputedStyle($("canvas")).backgroundColor;
  return (text.match(/[\d.]+/g) || [255, 255, 255]).slice(0, 3).map(Number);
}
