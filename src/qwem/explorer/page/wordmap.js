// A map of words: points and labels, moved by hands and keys.

import { PointLayer } from "./points.js";
import { moveByHand } from "./gestures.js";
import { Nearby, boundsOf, inside } from "./nearby.js";
import { Overlay } from "./overlay.js";
import { Sight } from "./sight.js";

const MOST_RINGS = 200; // around chosen words
const REACH = 14; // pixels: how far from a point the pointer still finds it
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
  /** @type {Overlay} */ #above;
  #sight = new Sight();
  /** @type {Uint8Array} colours as given */ #colours = new Uint8Array(0);
  /** @type {Uint8Array} colours as drawn: words that a search did not find are faint */
  #shades = new Uint8Array(0);
  /** @type {Set<number> | null} */ #found = null;
  /** @type {number[]} */ #chosen = [];
  /** @type {Nearby | null} */ #nearby = null;
  #range = { x: [-1, 1], y: [-1, 1] };
  #asked = false;
  /** @type {number[]} */ #loop = [];
  #hovered = -1;
  #ratio = 1;
  #slow = false; // whether a sharp picture takes too long while the map moves
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #later;

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
    this.#above = new Overlay(this.overlay, look);
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
    this.#above.setWords(words);
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
    this.#sight.equal = equal;
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
    this.#sight.fit();
    this.redraw();
  }

  /**
   * Zoom by a factor, keeping a pixel in its place: the middle by default.
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomBy(factor, x, y) {
    this.#sight.zoomBy(factor, x, y);
    this.redraw();
  }

  /**
   * Move the map by some pixels.
   * @param {number} right
   * @param {number} down
   */
  pan(right, down) {
    this.#sight.pan(right, down);
    this.redraw();
  }

  /**
   * Bring a word to the middle.
   * @param {number} row
   */
  centreOn(row) {
    const zoom = Math.max(this.#sight.zoom, 4);
    this.#sight.look(zoom, this.positions[2 * row], this.positions[2 * row + 1]);
    this.redraw();
  }

  /** @returns {[number, number, number]} the zoom and the centre, to be kept in an address */
  get sight() {
    const { zoom, centre } = this.#sight;
    return [zoom, centre[0], centre[1]];
  }

  set sight([zoom, x, y]) {
    this.#sight.look(zoom, x, y);
    this.redraw();
  }

  /**
   * The pixel of a word.
   * @param {number} row
   */
  pixel(row) {
    const { across, up, left, top } = this.#sight.camera;
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
    const { camera, size: whole } = this.#sight;
    const [width, height] = whole;
    fitCanvas(this.canvas, width * ratio, height * ratio);
    fitCanvas(this.overlay, width * this.#ratio, height * this.#ratio);
    const shown = {
      across: ratio * camera.across,
      up: ratio * camera.up,
      left: ratio * camera.left,
      top: ratio * camera.top,
    };
    const size = diameter(this.words.length) * ratio * Math.min(3, Math.max(1, this.#sight.zoom) ** 0.3);
    this.#layer.draw(this.positions, this.#shades, size, shown, this.look.paper());
    if (ratio > 1) this.#slow = performance.now() - began > FAST;
    this.#above.clear(this.#ratio, whole);
    if (!this.#sight.equal) this.#above.drawAxes(camera, whole, this.#range);
    this.labels = this.#above.drawLabels(this.positions, camera, whole, {
      chosen: this.#chosen,
      others: this.#found ?? everyRow(this.words.length),
      covered: this.#covered(),
    });
    const ringed = this.#chosen.slice(0, MOST_RINGS);
    if (this.#hovered >= 0) ringed.push(this.#hovered);
    this.#above.drawRings(ringed.map((row) => this.pixel(row)));
    this.#above.drawLoop(this.#loop);
    this.frames += 1;
    this.element.dispatchEvent(new CustomEvent("drawn", { detail: this }));
  }

  /** What lies over the map, in its own pixels. */
  #covered() {
    const corner = this.element.getBoundingClientRect();
    return (this.events.covered?.() ?? []).map(
      ({ x, y, width, height }) => new DOMRect(x - corner.x, y - corner.y, width, height),
    );
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
    this.#sight.size = [Math.max(1, clientWidth), Math.max(1, clientHeight)];
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
    const { across, up } = this.#sight.camera;
    const found = this.#found;
    const fits = found ? (/** @type {number} */ row) => found.has(row) : undefined;
    return this.#nearby.nearest(...this.#sight.at(x, y), REACH / across, REACH / up, fits);
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
    for (let i = 0; i < loop.length; i += 2) points.push(...this.#sight.at(loop[i], loop[i + 1]));
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
