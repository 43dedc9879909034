// What is drawn over the points of a map: lines through zero, labels, rings and a loop.

import { Room, placeLabels } from "./labels.js";

const LABEL = 13; // pixels: the size of a label's letters
const MOST_LABELS = 220;

export class Overlay {
  /** @type {CanvasRenderingContext2D} */ #text;
  /** @type {string[]} */ #words = [];
  /** @type {Float32Array} widths of labels, measured when they are needed */
  #widths = new Float32Array(0);

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./wordmap.js").MapLook} look
   */
  constructor(canvas, look) {
    this.#text = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.look = look;
  }

  /** @param {string[]} words */
  setWords(words) {
    this.#words = words;
    this.#widths = new Float32Array(words.length);
  }

  /**
   * Wipe all, and draw in pixels of the page from now on.
   * @param {number} ratio pixels of the canvas per pixel of the page
   * @param {number[]} size
   */
  clear(ratio, [width, height]) {
    this.#text.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#text.clearRect(0, 0, width, height);
  }

  /**
   * Lines through zero, where the axes have one in sight.
   * @param {import("./points.js").Camera} camera
   * @param {number[]} size
   * @param {{ x: number[], y: number[] }} range what the map shows of both axes
   */
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

  /**
   * Labels that do not overlap: those of chosen words, then of others by their order.
   * @param {Float32Array} positions
   * @param {import("./points.js").Camera} camera
   * @param {number[]} size
   * @param {{ chosen: number[], others: Iterable<number>, covered: DOMRect[] }} rows
   *   covered: places where no label can be read
   * @returns {import("./labels.js").Label[]} what was drawn
   */
  drawLabels(positions, camera, [width, height], { chosen, others, covered }) {
    const text = this.#text;
    const most = Math.min(MOST_LABELS, Math.round((width * height) / 3200));
    const frame = { width, height, most, line: LABEL + 3 };
    const room = new Room();
    for (const { x, y, width: wide, height: tall } of covered) {
      room.take({ row: -1, x, y, width: wide, height: tall });
    }
    const place = (/** @type {Iterable<number>} */ rows) =>
      placeLabels(rows, positions, camera, frame, (row) => this.#width(row), room);
    text.font = `600 ${LABEL}px system-ui, sans-serif`;
    const first = place(chosen);
    const rest = place(others); // a chosen word takes its own place, so none comes twice
    text.textBaseline = "top";
    text.lineJoin = "round";
    text.lineWidth = 3;
    text.strokeStyle = this.look.halo();
    text.fillStyle = this.look.accent();
    this.#write(first);
    text.font = `${LABEL}px system-ui, sans-serif`;
    text.fillStyle = this.look.ink();
    this.#write(rest);
    return [...first, ...rest];
  }

  /**
   * Rings around pixels.
   * @param {number[][]} places
   */
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

  /** @param {number[]} loop pixels, x and y in turn */
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

  /** @param {import("./labels.js").Label[]} labels */
  #write(labels) {
    for (const { row, x, y } of labels) {
      this.#text.strokeText(this.#words[row], x + 3, y + 2);
      this.#text.fillText(this.#words[row], x + 3, y + 2);
    }
  }

  /** @param {number} row */
  #width(row) {
    if (!this.#widths[row]) this.#widths[row] = this.#text.measureText(this.#words[row]).width + 6;
    return this.#widths[row];
  }
}
