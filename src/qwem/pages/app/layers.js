// What a map of words is drawn with: labels, points, and ways to find a point.

import { colour } from "./theme.js";

// Boxes of labels, which never overlap: the first in order of priority keep their place.
export class Room {
  #boxes = [];

  // Take a box unless it overlaps one that is taken.
  take(box) {
    const { x, y } = box;
    const [right, bottom] = [x + box.width, y + box.height];
    const overlaps = (other) =>
      x < other.x + other.width && other.x < right && y < other.y + other.height && other.y < bottom;
    return !this.#boxes.some(overlaps) && this.#boxes.push(box) > 0;
  }
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

  constructor(canvas, ink) {
    this.#text = canvas.getContext("2d");
    this.ink = ink; // the name of the labels' colour
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
    text.strokeStyle = colour("rule");
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

  // Labels that do not overlap: chosen words, titles of topics, then others by their order. Nothing
  // is written where the map is covered. Returns what was drawn, with its box.
  drawLabels(positions, camera, [width, height], { topics, chosen, others, covered }) {
    const text = this.#text;
    const most = Math.min(MOST_LABELS, Math.round((width * height) / 3200));
    const frame = { width, height, most, line: LABEL + 3 };
    const room = new Room();
    for (const box of covered) room.take(box);
    text.textBaseline = "top";
    text.lineJoin = "round";
    text.strokeStyle = colour("card");
    const place = (rows, look) =>
      placeLabels(rows, positions, camera, frame, (row) => this.#width(row), room).map((label) => ({
        ...label,
        text: this.#words[label.row],
        ...look,
      }));
    text.font = `600 ${LABEL}px system-ui, sans-serif`;
    const first = place(chosen, { fill: colour("warm"), bold: true });
    this.#write(first, 3);
    text.font = `700 ${TITLE}px system-ui, sans-serif`;
    const titles = topics.flatMap(({ title, fill, x, y }) => {
      const wide = text.measureText(title).width + 6;
      const [left, top] = [camera.left + camera.across * x, camera.top - camera.up * y];
      if (!(left > 0 && top > 0 && left < width && top < height)) return [];
      const at = Math.min(Math.max(left - wide / 2, 2), width - wide - 2);
      const label = { text: title, fill, bold: true, x: at, width: wide, height: TITLE + 3 };
      // Above or below its place, if another title is there.
      const free = [0, -20, 20, -40, 40].map((step) => ({ ...label, y: top - TITLE / 2 + step }));
      return free.find((box) => box.y > 0 && room.take(box)) ?? [];
    });
    this.#write(titles, 4);
    text.font = `${LABEL}px system-ui, sans-serif`;
    const rest = place(others, { fill: colour(this.ink) }); // a chosen word has its place already
    this.#write(rest, 3);
    return [...first, ...titles, ...rest];
  }

  // Rings around pixels.
  drawRings(places) {
    const text = this.#text;
    text.strokeStyle = colour("warm");
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
    text.strokeStyle = colour("warm");
    text.lineWidth = 2;
    text.beginPath();
    for (let i = 0; i < loop.length; i += 2) text.lineTo(loop[i], loop[i + 1]);
    text.closePath();
    text.stroke();
  }

  #write(labels, halo) {
    const text = this.#text;
    text.lineWidth = halo;
    for (const { text: word, fill, x, y } of labels) {
      text.fillStyle = fill;
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
// WebGL, with graphics hardware it is fast enough, and it works everywhere.

export class PointLayer {
  #image = null;
  #pixels = new Uint32Array(0);

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  // Draw all points that are wholly in sight, the first on top.
  draw(positions, colours, diameter, camera, paper) {
    const { width, height } = this.canvas;
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = this.context.createImageData(width, height);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
    }
    const pixels = this.#pixels;
    pixels.fill(packed(...paper));
    const side = Math.max(1, Math.round(diameter));
    const { steps, cover } = stampOf(side, width);
    for (let row = positions.length / 2 - 1; row >= 0; row--) {
      const left = Math.round(camera.left + camera.across * positions[2 * row] - side / 2);
      const top = Math.round(camera.top - camera.up * positions[2 * row + 1] - side / 2);
      if (!(left >= 0 && top >= 0 && left + side <= width && top + side <= height)) continue;
      const alpha = colours[4 * row + 3];
      const colour = packed(colours[4 * row], colours[4 * row + 1], colours[4 * row + 2]);
      const corner = top * width + left;
      for (let i = 0; i < steps.length; i++) {
        const at = corner + steps[i];
        pixels[at] = blend(pixels[at], colour, (alpha * cover[i]) | 0);
      }
    }
    this.context.putImageData(this.#image, 0, 0);
  }
}

// The pixels of a point: how far each is from the first in an image, and how much of it is covered.
function stampOf(side, width) {
  const [steps, cover] = [[], []];
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const distance = Math.hypot(x + 0.5 - side / 2, y + 0.5 - side / 2);
      const covered = side < 4 ? 1 : Math.min(1, Math.max(0, side / 2 - distance + 0.5));
      if (covered === 0) continue;
      steps.push(y * width + x);
      cover.push(covered);
    }
  }
  return { steps: Int32Array.from(steps), cover: Float32Array.from(cover) };
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

// The nearest point within an ellipse around (x, y), or −1. Of equally near ones the first.
export function nearestPoint(positions, x, y, wide, tall, fits = () => true) {
  let [found, least] = [-1, 1];
  for (let row = 0; row < positions.length / 2; row++) {
    const across = (positions[2 * row] - x) / wide;
    const up = (positions[2 * row + 1] - y) / tall;
    const distance = across * across + up * up;
    if (distance < least && fits(row)) [found, least] = [row, distance];
  }
  return found;
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
  const context = document.createElement("canvas").getContext("2d");
  const path = new Path2D();
  for (let i = 0; i < loop.length; i += 2) path.lineTo(loop[i], loop[i + 1]);
  path.closePath();
  const rows = Array.from({ length: positions.length / 2 }, (_, row) => row);
  return rows.filter((row) =>
    context.isPointInPath(path, positions[2 * row], positions[2 * row + 1], "evenodd"),
  );
}
