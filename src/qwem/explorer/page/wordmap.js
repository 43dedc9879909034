// A map of words: points, labels, and the pointer and keys that move it.

import { PointLayer } from "./points.js";
import { moveByHand } from "./gestures.js";
import { Room, placeLabels } from "./labels.js";
import { Nearby, boundsOf, inside } from "./nearby.js";

const LABEL = 13; // pixels: the size of a label's letters
const REACH = 14; // pixels: how far from a point the pointer still finds it
const CLOSEST = 4000; // how far one can zoom in
const MOST_LABELS = 220;
const FAST = 8; // milliseconds: where points take longer, fine screens show them coarsely in motion
const REST = 160; // milliseconds after the last motion, when they are drawn sharply again

/**
 * What a map tells its owner.
 * @typedef {object} MapEvents
 * @property {(row: number, x: number, y: number) => void} [hover] the word under the pointer, or −1
 * @property {(row: number) => void} [choose] a word was clicked
 * @property {(rows: number[]) => void} [loop] words were enclosed
 * @property {() => DOMRect[]} [covered] asked for what lies over the map, where no label can be read
 */

/**
 * Colours, asked for at each drawing since the theme may change.
 * @typedef {object} MapLook
 * @property {() => string} ink
 * @property {() => string} halo
 * @property {() => string} accent
 * @property {() => string} rule
 * @property {() => [number, number, number]} paper
 */

export class WordMap {
  /** @type {string[]} */
  words = [];
  /** Places as they are drawn: each axis from −1 to 1. */
  positions = new Float32Array(0);
  /** @type {import("./labels.js").Label[]} what was last drawn */
  labels = [];
  /** How many frames have been drawn. */
  frames = 0;
  lassoing = false;

  /** @type {PointLayer} */ #layer;
  #zoom = 1;
  #centre = [0, 0];
  /** @type {Float32Array} */ #widths = new Float32Array(0);
  /** @type {Uint8Array} colours as given */ #colours = new Uint8Array(0);
  /** @type {Uint8Array} colours as drawn: words that a search did not find are faint */
  #shades = new Uint8Array(0);
  /** @type {Set<number> | null} */ #found = null;
  /** @type {number[]} */ #chosen = [];
  /** @type {Nearby | null} */ #nearby = null;
  #range = { x: [-1, 1], y: [-1, 1] };
  #equal = false;
  #asked = false;
  /** @type {number[]} */ #loop = [];
  #hovered = -1;
  #ratio = 1;
  #slow = false; // whether a sharp picture takes too long while the map moves
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #later;
  #size = [1, 1];

  /**
   * @param {HTMLElement} element a box of any size, which the map fills
   * @param {MapEvents} events
   * @param {MapLook} look
   */
  constructor(element, events, look) {
    this.element = element;
    this.events = events;
    this.look = look;
    this.canvas = element.appendChild(document.createElement("canvas"));
    this.overlay = element.appendChild(document.createElement("canvas"));
    for (const canvas of [this.canvas, this.overlay]) canvas.setAttribute("aria-hidden", "true");
    this.#layer = new PointLayer(this.canvas);
    this.text = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    new ResizeObserver(() => this.#resize()).observe(element);
    moveByHand(element, {
      pan: (right, down) => this.pan(right, down),
      zoomBy: (factor, x, y) => this.zoomBy(factor, x, y),
      fit: () => this.fit(),
      hover: (x, y) => this.#hover(x, y),
      click: (x, y) => this.#click(x, y),
      drawing: () => this.lassoing,
      draw: (loop) => {
        this.#loop = loop;
        this.redraw();
      },
      enclose: (loop) => this.#enclose(loop),
    });
    this.#resize();
  }

  /**
   * Show these words, the most important first.
   * @param {string[]} words
   */
  setWords(words) {
    this.words = words;
    this.#widths = new Float32Array(words.length);
    this.setColours(new Uint8Array(4 * words.length).fill(128));
  }

  /**
   * Put the words at places, x and y in turn.
   * @param {Float32Array} places
   * @param {{ equal?: boolean, bounds?: ReturnType<typeof boundsOf>, keep?: boolean }} [how]
   *   equal: both axes have one scale; bounds: what must be in sight; keep: don't move the camera
   */
  place(places, { equal = false, bounds, keep = false } = {}) {
    const { left, right, low, high } = bounds ?? boundsOf(places);
    this.#equal = equal;
    this.#range = { x: [left, right], y: [low, high] };
    const wide = equal ? Math.max(right - left, high - low) : right - left;
    const tall = equal ? wide : high - low;
    const positions =
      this.positions.length === places.length ? this.positions : new Float32Array(places.length);
    for (let i = 0; i < places.length; i += 2) {
      positions[i] = (2 * places[i] - left - right) / (wide || 1);
      positions[i + 1] = (2 * places[i + 1] - low - high) / (tall || 1);
    }
    this.positions = positions;
    this.#nearby = null;
    if (!keep) this.fit();
    this.redraw();
  }

  /** @param {Uint8Array} colours red, green, blue, alpha of each word */
  setColours(colours) {
    this.#colours = colours;
    this.#paint();
  }

  /** @param {Set<number> | null} rows words that stand out; null for no search */
  setFound(rows) {
    this.#found = rows;
    this.#paint();
  }

  /** @param {number[]} rows words that are always labelled, in another colour */
  setChosen(rows) {
    this.#chosen = rows;
    this.redraw();
  }

  fit() {
    this.#zoom = 1;
    this.#centre = [0, 0];
    this.redraw();
  }

  /**
   * Zoom by a factor, keeping a pixel in its place.
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomBy(factor, x = this.#size[0] / 2, y = this.#size[1] / 2) {
    const before = this.at(x, y);
    this.#zoom = Math.min(CLOSEST, Math.max(0.5, this.#zoom * factor));
    const after = this.at(x, y);
    this.#centre = [this.#centre[0] + before[0] - after[0], this.#centre[1] + before[1] - after[1]];
    this.redraw();
  }

  /**
   * Move the map by some pixels.
   * @param {number} right
   * @param {number} down
   */
  pan(right, down) {
    const { across, up } = this.camera;
    this.#centre = [this.#centre[0] - right / across, this.#centre[1] + down / up];
    this.redraw();
  }

  /**
   * Bring a word to the middle.
   * @param {number} row
   * @param {number} [zoom]
   */
  centreOn(row, zoom = Math.max(this.#zoom, 4)) {
    this.#zoom = zoom;
    this.#centre = [this.positions[2 * row], this.positions[2 * row + 1]];
    this.redraw();
  }

  /** @returns {[number, number, number]} the zoom and the centre, to be kept in an address */
  get sight() {
    return [this.#zoom, this.#centre[0], this.#centre[1]];
  }

  set sight([zoom, x, y]) {
    if (![zoom, x, y].every(Number.isFinite)) return;
    this.#zoom = Math.min(CLOSEST, Math.max(0.5, zoom));
    this.#centre = [x, y];
    this.redraw();
  }

  /** @returns {import("./points.js").Camera} */
  get camera() {
    const [width, height] = this.#size;
    const room = 0.46 * this.#zoom;
    const across = room * (this.#equal ? Math.min(width, height) : width);
    const up = room * (this.#equal ? Math.min(width, height) : height);
    return {
      across,
      up,
      left: width / 2 - across * this.#centre[0],
      top: height / 2 + up * this.#centre[1],
    };
  }

  /**
   * The point of the map under a pixel.
   * @param {number} x
   * @param {number} y
   */
  at(x, y) {
    const { across, up, left, top } = this.camera;
    return [(x - left) / across, (top - y) / up];
  }

  /**
   * The pixel of a word.
   * @param {number} row
   */
  pixel(row) {
    const { across, up, left, top } = this.camera;
    return [left + across * this.positions[2 * row], top - up * this.positions[2 * row + 1]];
  }

  /** Draw soon; however often it is asked, once a frame. */
  redraw() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      const coarse = this.#ratio > 1 && this.#slow;
      this.#draw(coarse ? 1 : this.#ratio);
      clearTimeout(this.#later);
      if (coarse) this.#later = setTimeout(() => this.#draw(this.#ratio), REST);
    });
  }

  /** The map as a picture on paper of its own, with its labels. */
  async picture() {
    this.#draw(this.#ratio);
    const both = document.createElement("canvas");
    both.width = this.canvas.width;
    both.height = this.canvas.height;
    const context = /** @type {CanvasRenderingContext2D} */ (both.getContext("2d"));
    context.fillStyle = this.look.halo();
    context.fillRect(0, 0, both.width, both.height);
    context.drawImage(this.canvas, 0, 0);
    context.drawImage(this.overlay, 0, 0);
    return new Promise((/** @type {(blob: Blob | null) => void} */ done) => both.toBlob(done));
  }

  /** @param {number} ratio pixels of the points' canvas per pixel of the page */
  #draw(ratio) {
    const began = performance.now();
    const [width, height] = this.#size;
    fitCanvas(this.canvas, width * ratio, height * ratio);
    fitCanvas(this.overlay, width * this.#ratio, height * this.#ratio);
    const camera = this.camera;
    const shown = {
      across: ratio * camera.across,
      up: ratio * camera.up,
      left: ratio * camera.left,
      top: ratio * camera.top,
    };
    const size = diameter(this.words.length) * ratio * Math.min(3, Math.max(1, this.#zoom) ** 0.3);
    this.#layer.draw(this.positions, this.#shades, size, shown, this.look.paper());
    if (ratio > 1) this.#slow = performance.now() - began > FAST;
    const { text } = this;
    text.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    text.clearRect(0, 0, width, height);
    if (!this.#equal) this.#drawAxes(camera, width, height);
    this.#drawLabels(camera, width, height);
    this.#drawLoop();
    this.frames += 1;
    this.element.dispatchEvent(new CustomEvent("drawn", { detail: this }));
  }

  /**
   * Lines through zero, where the axes have one in sight.
   * @param {import("./points.js").Camera} camera
   * @param {number} width
   * @param {number} height
   */
  #drawAxes(camera, width, height) {
    const { text } = this;
    const [x, y] = [this.#range.x, this.#range.y].map(
      ([low, high]) => -(low + high) / (high - low || 1),
    );
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
   * @param {import("./points.js").Camera} camera
   * @param {number} width
   * @param {number} height
   */
  #drawLabels(camera, width, height) {
    const { text, words, positions } = this;
    const most = Math.min(MOST_LABELS, Math.round((width * height) / 3200));
    const frame = { width, height, most, line: LABEL + 3 };
    const room = new Room();
    const corner = this.element.getBoundingClientRect();
    for (const { x, y, width: wide, height: tall } of this.events.covered?.() ?? []) {
      room.take({ row: -1, x: x - corner.x, y: y - corner.y, width: wide, height: tall });
    }
    text.font = `600 ${LABEL}px system-ui, sans-serif`;
    const first = placeLabels(
      this.#chosen,
      positions,
      camera,
      frame,
      (row) => this.#width(row),
      room,
    );
    const rest = this.#found ? [...this.#found] : everyRow(words.length);
    const others = placeLabels(rest, positions, camera, frame, (row) => this.#width(row), room);
    this.labels = [...first, ...others]; // a chosen word takes its own place, so none comes twice
    text.textBaseline = "top";
    text.lineJoin = "round";
    text.lineWidth = 3;
    text.strokeStyle = this.look.halo();
    text.fillStyle = this.look.accent();
    for (const { row, x, y } of first) {
      text.strokeText(words[row], x + 3, y + 2);
      text.fillText(words[row], x + 3, y + 2);
    }
    text.font = `${LABEL}px system-ui, sans-serif`;
    text.fillStyle = this.look.ink();
    for (const { row, x, y } of others) {
      text.strokeText(words[row], x + 3, y + 2);
      text.fillText(words[row], x + 3, y + 2);
    }
    text.strokeStyle = this.look.accent();
    text.lineWidth = 2;
    const rings =
      this.#hovered >= 0
        ? [...this.#chosen.slice(0, 200), this.#hovered]
        : this.#chosen.slice(0, 200);
    for (const row of rings) {
      const [x, y] = this.pixel(row);
      text.beginPath();
      text.arc(x, y, 6, 0, 2 * Math.PI);
      text.stroke();
    }
  }

  #drawLoop() {
    if (this.#loop.length < 4) return;
    const { text } = this;
    text.strokeStyle = this.look.accent();
    text.lineWidth = 2;
    text.beginPath();
    for (let i = 0; i < this.#loop.length; i += 2) text.lineTo(this.#loop[i], this.#loop[i + 1]);
    text.closePath();
    text.stroke();
  }

  /** @param {number} row */
  #width(row) {
    if (!this.#widths[row]) this.#widths[row] = this.text.measureText(this.words[row]).width + 6;
    return this.#widths[row];
  }

  #paint() {
    let colours = this.#colours;
    if (this.#found) {
      colours = colours.slice();
      for (let row = 0; row < this.words.length; row++) {
        if (!this.#found.has(row)) colours[4 * row + 3] *= 0.12;
      }
    }
    this.#shades = colours;
    this.redraw();
  }

  #resize() {
    const { clientWidth, clientHeight } = this.element;
    this.#size = [Math.max(1, clientWidth), Math.max(1, clientHeight)];
    this.#ratio = Math.min(2, devicePixelRatio || 1);
    this.redraw();
  }

  /**
   * The word at a pixel, or −1.
   * @param {number} x
   * @param {number} y
   */
  wordAt(x, y) {
    this.#nearby ??= new Nearby(this.positions);
    const { across, up } = this.camera;
    const found = this.#found;
    const fits = found ? (/** @type {number} */ row) => found.has(row) : undefined;
    return this.#nearby.nearest(...this.#pair(this.at(x, y)), REACH / across, REACH / up, fits);
  }

  /**
   * @param {number[]} two
   * @returns {[number, number]}
   */
  #pair(two) {
    return [two[0], two[1]];
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #hover(x, y) {
    const row = this.wordAt(x, y);
    if (row !== this.#hovered) {
      this.#hovered = row;
      this.redraw();
    }
    const [left, top] = row >= 0 ? this.pixel(row) : [0, 0];
    this.events.hover?.(row, left, top);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #click(x, y) {
    const row = this.wordAt(x, y);
    if (row >= 0) this.events.choose?.(row);
  }

  /** @param {number[]} loop pixels, x and y in turn */
  #enclose(loop) {
    const points = [];
    for (let i = 0; i < loop.length; i += 2) points.push(...this.at(loop[i], loop[i + 1]));
    this.events.loop?.(inside(this.positions, points));
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function fitCanvas(canvas, width, height) {
  const [wide, tall] = [Math.round(width), Math.round(height)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
}

/** @param {number} count */
function* everyRow(count) {
  for (let row = 0; row < count; row++) yield row;
}

/**
 * The size of points: small ones where there are many.
 * @param {number} count
 */
export function diameter(count) {
  return Math.max(2, Math.min(7, 14 - 2.4 * Math.log10(Math.max(count, 1))));
}
