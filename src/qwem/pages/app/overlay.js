// What is drawn over the points of a map: lines through zero, labels, rings and a loop.

import { Room, placeLabels } from "./labels.js";

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
