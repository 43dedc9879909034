// Viewport: which part of a map is seen, and where a point of it lies on the screen.

import { picture, shape, svgText } from "./charts.js";
import { Overlay, PointLayer, boundsOf, inside, nearestPoint } from "./layers.js";

const CLOSEST = 4000; // how far one can zoom in
const FARTHEST = 0.5;

class Viewport {
  zoom = 1;
  // The point of the map in the middle; all of it is from −1 to 1 on both axes.
  centre = [0, 0];
  // Pixels of the screen, across and down.
  size = [1, 1];

  // See all of the map.
  fit() {
    this.zoom = 1;
    this.centre = [0, 0];
  }

  // Look at a point; coordinates that are no numbers are ignored.
  look(zoom, x, y) {
    if (![zoom, x, y].every(Number.isFinite)) return;
    this.zoom = Math.min(CLOSEST, Math.max(FARTHEST, zoom));
    this.centre = [x, y];
  }

  // Zoom by a factor, keeping a pixel in its place.
  zoomBy(factor, x = this.size[0] / 2, y = this.size[1] / 2) {
    const before = this.at(x, y);
    this.zoom = Math.min(CLOSEST, Math.max(FARTHEST, this.zoom * factor));
    const after = this.at(x, y);
    this.centre = [this.centre[0] + before[0] - after[0], this.centre[1] + before[1] - after[1]];
  }

  // Move the map by some pixels.
  pan(right, down) {
    const { across, up } = this.camera;
    this.centre = [this.centre[0] - right / across, this.centre[1] + down / up];
  }

  get camera() {
    const [width, height] = this.size;
    const room = 0.46 * this.zoom;
    const across = room * width;
    const up = room * height;
    return { across, up, left: width / 2 - across * this.centre[0], top: height / 2 + up * this.centre[1] };
  }

  // The point of the map under a pixel.
  at(x, y) {
    const { across, up, left, top } = this.camera;
    return [(x - left) / across, (top - y) / up];
  }
}

// Input on a map: dragging, pinching, scrolling, drawing a loop, and keys.

const STEP = 60; // pixels that an arrow key moves the map

function moveByHand(element, hands) {
  const fingers = new Map();
  let loop = [];
  let moved = 0;
  const place = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    const { x, y } = place(event);
    fingers.set(event.pointerId, { x, y });
    moved = 0;
    if (hands.drawing() || event.shiftKey) loop = [x, y];
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) return hands.hover(now.x, now.y);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (loop.length) {
      loop.push(now.x, now.y);
      hands.draw(loop);
    } else if (fingers.size === 1) {
      hands.pan(now.x - before.x, now.y - before.y);
    } else {
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1] ?? now;
      const wider = Math.hypot(now.x - other.x, now.y - other.y);
      const narrow = Math.hypot(before.x - other.x, before.y - other.y) || 1;
      hands.zoomBy(wider / narrow, (now.x + other.x) / 2, (now.y + other.y) / 2);
    }
    fingers.set(event.pointerId, now);
  });
  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const drawn = loop;
    loop = [];
    hands.draw(loop);
    if (drawn.length > 4 && moved > 10) hands.enclose(drawn);
    else if (moved < 5 && event.type === "pointerup") hands.click(place(event).x, place(event).y);
  };
  element.addEventListener("pointerup", lift);
  element.addEventListener("pointercancel", lift);
  element.addEventListener("pointerleave", () => hands.hover(-Infinity, -Infinity));
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      hands.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), x, y);
    },
    { passive: false },
  );
  element.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    hands.zoomBy(2, x, y);
  });
  element.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => hands.pan(STEP, 0),
      ArrowRight: () => hands.pan(-STEP, 0),
      ArrowUp: () => hands.pan(0, STEP),
      ArrowDown: () => hands.pan(0, -STEP),
      "+": () => hands.zoomBy(1.5),
      "=": () => hands.zoomBy(1.5),
      "-": () => hands.zoomBy(1 / 1.5),
      0: () => hands.fit(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

// A map of words: points and labels, moved by hands and keys.

const MOST_RINGS = 200; // around chosen words
const REACH = 14; // pixels: how far from a point the pointer still finds it
const FAST = 8; // milliseconds: where points take longer, fine screens show them coarsely in motion
const MAP_PRINT = 3; // pixels of a saved picture per pixel of the page
const REST = 160; // milliseconds after the last motion, when they are drawn sharply again

export class WordMap {
  words = [];
  // Places as they are drawn: each axis from −1 to 1.
  positions = new Float32Array(0);
  labels = [];
  // How many frames have been drawn.
  frames = 0;
  lassoing = false;

  #layer;
  #above;
  #viewport = new Viewport();
  #colours = new Uint8Array(0);
  #shades = new Uint8Array(0);
  #found = null;
  #chosen = [];
  #topics = [];
  #quiet = 0;
  #axes = false;
  #range = { x: [-1, 1], y: [-1, 1] };
  #asked = false;
  #loop = [];
  #hovered = -1;
  #ratio = 1;
  #slow = false; // whether a sharp picture takes too long while the map moves
  #later;

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

  // Show these words, the most important first; the first `quiet` ones have no labels of their own.
  setWords(words, quiet = 0) {
    this.words = words;
    this.#quiet = quiet;
    this.#above.setWords(words);
    this.setColours(new Uint8Array(4 * words.length).fill(128));
  }

  // Put the words at places, x and y in turn. `bounds` must be in sight; with `keep` the viewport
  // stays; `axes` have lines through zero; `topics` are titles in a colour, each at a place.
  place(places, { axes = true, bounds, keep = false, topics = [] } = {}) {
    const { left, right, low, high } = bounds ?? boundsOf(places);
    this.#axes = axes;
    this.#range = { x: [left, right], y: [low, high] };
    const [wide, tall] = [right - left, high - low];
    const positions =
      this.positions.length === places.length ? this.positions : new Float32Array(places.length);
    for (let i = 0; i < places.length; i += 2) {
      positions[i] = (2 * places[i] - left - right) / (wide || 1);
      positions[i + 1] = (2 * places[i + 1] - low - high) / (tall || 1);
    }
    this.positions = positions;
    this.#topics = topics.map((topic) => ({
      ...topic,
      x: (2 * topic.place[0] - left - right) / (wide || 1),
      y: (2 * topic.place[1] - low - high) / (tall || 1),
    }));
    if (!keep) this.fit();
    this.redraw();
  }

  setColours(colours) {
    this.#colours = colours;
    this.#paint();
  }

  setFound(rows) {
    this.#found = rows;
    this.#paint();
  }

  setChosen(rows) {
    this.#chosen = rows;
    this.redraw();
  }

  fit() {
    this.#viewport.fit();
    this.redraw();
  }

  // Zoom by a factor, keeping a pixel in its place: the middle by default.
  zoomBy(factor, x, y) {
    this.#viewport.zoomBy(factor, x, y);
    this.redraw();
  }

  // Move the map by some pixels.
  pan(right, down) {
    this.#viewport.pan(right, down);
    this.redraw();
  }

  // Bring a word to the middle.
  centreOn(row) {
    const zoom = Math.max(this.#viewport.zoom, 4);
    this.#viewport.look(zoom, this.positions[2 * row], this.positions[2 * row + 1]);
    this.redraw();
  }

  get position() {
    const { zoom, centre } = this.#viewport;
    return [zoom, centre[0], centre[1]];
  }

  set position([zoom, x, y]) {
    this.#viewport.look(zoom, x, y);
    this.redraw();
  }

  // The pixel of a word.
  pixel(row) {
    const { across, up, left, top } = this.#viewport.camera;
    return [left + across * this.positions[2 * row], top - up * this.positions[2 * row + 1]];
  }

  // Draw soon, at most once per frame.
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

  // The map for print: its points as an image, its labels as text.
  drawing(label) {
    const [width, height] = this.#viewport.size;
    this.#draw(MAP_PRINT);
    const svg = picture(width, height, label);
    svg.append(shape("image", { href: this.canvas.toDataURL(), width, height }));
    const halo = { stroke: this.look.halo(), "stroke-width": 3, "paint-order": "stroke" };
    for (const { text, x, y, height: tall, colour: fill, bold } of this.labels) {
      const size = tall - 3;
      const look = { fill, "font-size": size, "font-weight": bold ? 700 : 400, ...halo };
      svg.append(svgText(text, { x: x + 3, y: y + size, ...look }));
    }
    this.redraw();
    return svg;
  }

  #draw(ratio) {
    const began = performance.now();
    const { camera, size: whole } = this.#viewport;
    const [width, height] = whole;
    fitCanvas(this.canvas, width * ratio, height * ratio);
    fitCanvas(this.overlay, width * this.#ratio, height * this.#ratio);
    const shown = {
      across: ratio * camera.across,
      up: ratio * camera.up,
      left: ratio * camera.left,
      top: ratio * camera.top,
    };
    const size = diameter(this.words.length) * ratio * Math.min(3, Math.max(1, this.#viewport.zoom) ** 0.3);
    this.#layer.draw(this.positions, this.#shades, size, shown, this.look.paper());
    if (ratio > 1) this.#slow = performance.now() - began > FAST;
    this.#above.clear(this.#ratio, whole);
    if (this.#axes) this.#above.drawAxes(camera, whole, this.#range);
    this.labels = this.#above.drawLabels(this.positions, camera, whole, {
      topics: this.#found ? [] : this.#topics,
      chosen: this.#chosen,
      others: this.#found ?? everyRow(this.words.length, this.#quiet),
      covered: this.#covered(),
    });
    const ringed = this.#chosen.slice(0, MOST_RINGS);
    if (this.#hovered >= 0) ringed.push(this.#hovered);
    this.#above.drawRings(ringed.map((row) => this.pixel(row)));
    this.#above.drawLoop(this.#loop);
    this.frames += 1;
    this.element.dispatchEvent(new CustomEvent("drawn", { detail: this }));
  }

  // What lies over the map, in its own pixels.
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
    this.#viewport.size = [Math.max(1, clientWidth), Math.max(1, clientHeight)];
    this.#ratio = Math.min(2, devicePixelRatio || 1);
    this.redraw();
  }

  // The word at a pixel, or −1.
  wordAt(x, y) {
    const { across, up } = this.#viewport.camera;
    const fits = this.#found ? (row) => this.#found.has(row) : undefined;
    return nearestPoint(this.positions, ...this.#viewport.at(x, y), REACH / across, REACH / up, fits);
  }

  #hover(x, y) {
    const row = this.wordAt(x, y);
    if (row !== this.#hovered) {
      this.#hovered = row;
      this.redraw();
    }
    const [left, top] = row >= 0 ? this.pixel(row) : [0, 0];
    this.events.hover?.(row, left, top);
  }

  #click(x, y) {
    const row = this.wordAt(x, y);
    if (row >= 0) this.events.choose?.(row);
  }

  #enclose(loop) {
    const points = [];
    for (let i = 0; i < loop.length; i += 2) points.push(...this.#viewport.at(loop[i], loop[i + 1]));
    this.events.loop?.(inside(this.positions, points));
  }
}

function fitCanvas(canvas, width, height) {
  const [wide, tall] = [Math.round(width), Math.round(height)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
}

// Rows in the order of their labels: the quiet ones come last.
function* everyRow(count, quiet) {
  for (let row = quiet; row < count; row++) yield row;
  for (let row = 0; row < quiet; row++) yield row;
}

// The size of points: small ones where there are many.
function diameter(count) {
  return Math.max(2, Math.min(7, 14 - 2.4 * Math.log10(Math.max(count, 1))));
}
