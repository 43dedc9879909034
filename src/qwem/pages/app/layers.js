// Labels that never overlap: the first in order of priority keep their place, the others wait.

const CELL = 64; // pixels: boxes are looked up in cells of this size

// Boxes that are taken, by cell.
class Room {
  #cells = new Map();

  // Take a box unless it overlaps one that is taken.
  take(box) {
    const right = Math.floor((box.x + box.width) / CELL);
    const bottom = Math.floor((box.y + box.height) / CELL);
    const keys = [];
    for (let i = Math.floor(box.x / CELL); i <= right; i++) {
      for (let j = Math.floor(box.y / CELL); j <= bottom; j++) {
        const key = i * 4096 + j;
        for (const other of this.#cells.get(key) ?? []) if (overlap(box, other)) return false;
        keys.push(key);
      }
    }
    for (const key of keys) {
      const cell = this.#cells.get(key);
      if (cell) cell.push(box);
      else this.#cells.set(key, [box]);
    }
    return true;
  }
}

function overlap(a, b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// Labels for the rows that are in sight, in order, until there are enough.
function placeLabels(rows, positions, camera, frame, measure, room = new Room()) {
  const placed = [];
  let refused = 0;
  for (const row of rows) {
    const x = camera.left + camera.across * positions[2 * row];
    const y = camera.top - camera.up * positions[2 * row + 1];
    if (!(x > 0 && y > frame.line && x < frame.width && y < frame.height)) continue;
    const width = measure(row);
    const left = Math.min(Math.max(x - width / 2, 2), frame.width - width - 2);
    const box = { row, x: left, y: y - frame.line - 4, width, height: frame.line };
    if (room.take(box)) placed.push(box);
    else refused += 1;
    if (placed.length >= frame.most || refused > 12 * frame.most) break;
  }
  return placed;
}

// What is drawn over the points of a map: lines through zero, labels, rings and a loop.

const LABEL = 13; // pixels: the size of a label's letters
const TITLE = 15; // of a topic's title
const MOST_LABELS = 220;

export class Overlay {
  #text;
  #words = [];
  #widths = new Float32Array(0);

  constructor(canvas, look) {
    this.#text = canvas.getContext("2d");
    this.look = look;
  }

  setWords(words) {
    this.#words = words;
    this.#widths = new Float32Array(words.length);
  }

  // Wipe all, and draw in pixels of the page from now on.
  clear(ratio, [width, height]) {
    this.#text.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#text.clearRect(0, 0, width, height);
  }

  // Lines through zero, where the axes have one in sight.
  drawAxes(camera, [width, height], range) {
    const text = this.#text;
    const [x, y] = [range.x, range.y].map(([low, high]) => -(low + high) / (high - low || 1));
    text.strokeStyle = this.look.rule();
    text.globalAlpha = 0.55; // points show through
    text.lineWidth = 1;
    text.beginPath();
    const across = Math.round(camera.left + camera.across * x) + 0.5;
    const up = Math.round(camera.top - camera.up * y) + 0.5;
    text.moveTo(across, 0);
    text.lineTo(across, height);
    text.moveTo(0, up);
    text.lineTo(width, up);
    text.stroke();
    text.globalAlpha = 1;
  }

  // Labels that do not overlap: titles of topics, chosen words, then others by their order. Nothing
  // is written where the map is covered. Returns what was drawn, with its box.
  drawLabels(positions, camera, [width, height], { topics, chosen, others, covered }) {
    const text = this.#text;
    const most = Math.min(MOST_LABELS, Math.round((width * height) / 3200));
    const frame = { width, height, most, line: LABEL + 3 };
    const room = new Room();
    for (const { x, y, width: wide, height: tall } of covered) {
      room.take({ x, y, width: wide, height: tall });
    }
    text.textBaseline = "top";
    text.lineJoin = "round";
    text.strokeStyle = this.look.halo();
    text.font = `700 ${TITLE}px system-ui, sans-serif`;
    const titles = topics.flatMap(({ title, colour, x, y }) => {
      const wide = text.measureText(title).width + 6;
      const [left, top] = [camera.left + camera.across * x, camera.top - camera.up * y];
      if (!(left > 0 && top > 0 && left < width && top < height)) return [];
      const at = Math.min(Math.max(left - wide / 2, 2), width - wide - 2);
      const label = { text: title, colour, bold: true, x: at, width: wide, height: TITLE + 3 };
      // Above or below its place, if another title is there.
      const free = [0, -20, 20, -40, 40].map((step) => ({ ...label, y: top - TITLE / 2 + step }));
      return free.find((box) => box.y > 0 && room.take(box)) ?? [];
    });
    this.#write(titles, 4);
    const place = (rows, look) =>
      placeLabels(rows, positions, camera, frame, (row) => this.#width(row), room).map((label) => ({
        ...label,
        text: this.#words[label.row],
        ...look,
      }));
    text.font = `600 ${LABEL}px system-ui, sans-serif`;
    const first = place(chosen, { colour: this.look.accent(), bold: true });
    this.#write(first, 3);
    text.font = `${LABEL}px system-ui, sans-serif`;
    const rest = place(others, { colour: this.look.ink() }); // a chosen word has its place already
    this.#write(rest, 3);
    return [...titles, ...first, ...rest];
  }

  // Rings around pixels.
  drawRings(places) {
    const text = this.#text;
    text.strokeStyle = this.look.accent();
    text.lineWidth = 2;
    for (const [x, y] of places) {
      text.beginPath();
      text.arc(x, y, 6, 0, 2 * Math.PI);
      text.stroke();
    }
  }

  drawLoop(loop) {
    if (loop.length < 4) return;
    const text = this.#text;
    text.strokeStyle = this.look.accent();
    text.lineWidth = 2;
    text.beginPath();
    for (let i = 0; i < loop.length; i += 2) text.lineTo(loop[i], loop[i + 1]);
    text.closePath();
    text.stroke();
  }

  #write(labels, halo) {
    const text = this.#text;
    text.lineWidth = halo;
    for (const { text: word, colour, x, y } of labels) {
      text.fillStyle = colour;
      text.strokeText(word, x + 3, y + 2);
      text.fillText(word, x + 3, y + 2);
    }
  }

  #width(row) {
    if (!this.#widths[row]) this.#widths[row] = this.#text.measureText(this.#words[row]).width + 6;
    return this.#widths[row];
  }
}

// Points drawn pixel by pixel into an image. Where WebGL is done in software this is far faster than
// WebGL (benchmarks/explorer_map.py), with graphics hardware it is fast enough, and it works everywhere.

export class PointLayer {
  #image = null;
  #pixels = new Uint32Array(0);
  #stamps = new Map();

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  // Draw all points, the first on top.
  draw(positions, colours, diameter, camera, paper) {
    const { width, height } = this.canvas;
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = this.context.createImageData(width, height);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
    }
    const pixels = this.#pixels;
    pixels.fill(packed(...paper));
    const stamp = this.#stamp(Math.max(1, Math.round(diameter)));
    const { side } = stamp;
    const steps = stamp.down.map((down, i) => down * width + stamp.right[i]);
    for (let row = positions.length / 2 - 1; row >= 0; row--) {
      const left = Math.round(camera.left + camera.across * positions[2 * row] - side / 2);
      const top = Math.round(camera.top - camera.up * positions[2 * row + 1] - side / 2);
      if (!(left > -side && top > -side && left < width && top < height)) continue;
      const alpha = colours[4 * row + 3];
      const colour = packed(colours[4 * row], colours[4 * row + 1], colours[4 * row + 2]);
      const corner = top * width + left;
      if (left >= 0 && top >= 0 && left + side <= width && top + side <= height) {
        for (let i = 0; i < steps.length; i++) {
          const at = corner + steps[i];
          pixels[at] = blend(pixels[at], colour, (alpha * stamp.cover[i]) | 0);
        }
        continue;
      }
      for (let i = 0; i < steps.length; i++) {
        const x = left + stamp.right[i];
        const y = top + stamp.down[i];
        if (x < 0 || y < 0 || x >= width || y >= height) continue;
        const at = corner + steps[i];
        pixels[at] = blend(pixels[at], colour, (alpha * stamp.cover[i]) | 0);
      }
    }
    this.context.putImageData(this.#image, 0, 0);
  }

  #stamp(side) {
    const known = this.#stamps.get(side);
    if (known) return known;
    const right = [];
    const down = [];
    const cover = [];
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        const distance = Math.hypot(x + 0.5 - side / 2, y + 0.5 - side / 2);
        const covered = side < 4 ? 1 : Math.min(1, Math.max(0, side / 2 - distance + 0.5));
        if (covered === 0) continue;
        right.push(x);
        down.push(y);
        cover.push(covered);
      }
    }
    const stamp = {
      side,
      right: Int32Array.from(right),
      down: Int32Array.from(down),
      cover: Float32Array.from(cover),
    };
    this.#stamps.set(side, stamp);
    return stamp;
  }
}

// A colour as the image stores it on little-endian machines, which all that run browsers are.
function packed(red, green, blue) {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

// One colour over another: red and blue together, then green.
function blend(under, over, alpha) {
  const kept = 255 - alpha;
  const redBlue = (((over & 0xff00ff) * alpha + (under & 0xff00ff) * kept) >>> 8) & 0xff00ff;
  const green = (((over & 0x00ff00) * alpha + (under & 0x00ff00) * kept) >>> 8) & 0x00ff00;
  return (0xff000000 | redBlue | green) >>> 0;
}

// The point under the pointer, by a grid over the plane; and the points inside a drawn loop.

// Points sorted into the cells of a square grid.
export class SpatialIndex {
  constructor(positions) {
    const count = positions.length / 2;
    this.positions = positions;
    this.side = Math.max(1, Math.ceil(Math.sqrt(count / 4)));
    this.bounds = boundsOf(positions);
    const { left, low, right, high } = this.bounds;
    this.across = Math.max(right - left, high - low) / this.side || 1;
    const cells = new Int32Array(count);
    this.starts = new Int32Array(this.side * this.side + 1);
    for (let row = 0; row < count; row++) {
      cells[row] =
        this.#column(positions[2 * row + 1] - low) * this.side + this.#column(positions[2 * row] - left);
      this.starts[cells[row] + 1] += 1;
    }
    for (let cell = 0; cell < this.side * this.side; cell++) this.starts[cell + 1] += this.starts[cell];
    this.rows = new Int32Array(count);
    const next = this.starts.slice(0, -1);
    for (let row = 0; row < count; row++) this.rows[next[cells[row]]++] = row;
  }

  #column(offset) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(offset / this.across)));
  }

  // The nearest point within an ellipse around (x, y), or −1. Of equally near ones the first.
  nearest(x, y, wide, tall, fits = () => true) {
    const { left, low } = this.bounds;
    let found = -1;
    let least = 1;
    for (let j = this.#column(y - tall - low); j <= this.#column(y + tall - low); j++) {
      for (let i = this.#column(x - wide - left); i <= this.#column(x + wide - left); i++) {
        const cell = j * this.side + i;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k++) {
          const row = this.rows[k];
          const distance =
            ((this.positions[2 * row] - x) / wide) ** 2 + ((this.positions[2 * row + 1] - y) / tall) ** 2;
          if ((distance < least || (distance === least && row < found)) && fits(row)) {
            least = distance;
            found = row;
          }
        }
      }
    }
    return found;
  }
}

export function boundsOf(positions) {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < positions.length; i += 2) {
    const x = positions[i];
    const y = positions[i + 1];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < low) low = y;
    if (y > high) high = y;
  }
  return positions.length ? { left, right, low, high } : { left: -1, right: 1, low: -1, high: 1 };
}

// Rows whose points are inside a loop, given as x and y in turn (even–odd rule).
export function inside(positions, loop) {
  const bounds = boundsOf(Float32Array.from(loop));
  const found = [];
  for (let row = 0; row < positions.length / 2; row++) {
    const x = positions[2 * row];
    const y = positions[2 * row + 1];
    if (x < bounds.left || x > bounds.right || y < bounds.low || y > bounds.high) continue;
    let within = false;
    for (let i = 0, j = loop.length - 2; i < loop.length; j = i, i += 2) {
      const crosses = loop[i + 1] > y !== loop[j + 1] > y;
      const at = ((loop[j] - loop[i]) * (y - loop[i + 1])) / (loop[j + 1] - loop[i + 1]) + loop[i];
      if (crosses && x < at) within = !within;
    }
    if (within) found.push(row);
  }
  return found;
}
