// A map of words: points and labels, moved by hands and keys.

import { picture, shape, svgText } from "./charts.js";
import { button, formatCount, make } from "./dom.js";
import { Overlay, PointLayer, boundsOf, inside, nearestPoint } from "./layers.js";
import { colour, parseRgb } from "./theme.js";

// A map in its frame, with the titles of its axes, buttons to zoom and a note beside the word under the
// pointer. `choose` is called with the row of a word that was pressed, `loop` with those in a loop.
export function mapStage({ label, model, words = model.words, ink = "ink", choose, loop, buttons = [] }) {
  const keys = "Arrow keys move it, plus and minus zoom, zero shows all.";
  const box = make("div.words", { tabIndex: 0, role: "application", "aria-label": `${label} ${keys}` });
  const tip = make("div.tip", { hidden: true, "aria-hidden": "true" });
  const [bottom, left] = [make("div.axis.across"), make("div.axis.up")];
  const zoom = make(
    "div.zoom",
    button("+", () => map.zoomBy(1.6), { "aria-label": "Zoom in" }),
    button("−", () => map.zoomBy(1 / 1.6), { "aria-label": "Zoom out" }),
    button("All", () => map.fit(), { "aria-label": "Show all words" }),
    ...buttons,
  );
  const element = make("div.stage", left, box, bottom, zoom, tip);
  const hover = (row, x = 0, y = 0) => {
    tip.hidden = row < 0;
    if (tip.hidden) return;
    const count = model.counts[row];
    tip.replaceChildren(make("b", words[row]), make("span", count ? `${formatCount(count)} times` : ""));
    const room = element.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(4, Math.min(x + box.offsetLeft + 12, room))}px`;
    tip.style.top = `${Math.min(y + 12, box.clientHeight - tip.offsetHeight - 4)}px`;
  };
  const map = new WordMap(box, { hover, choose, loop, covered: () => [zoom.getBoundingClientRect()] }, ink);
  map.setWords(words, model.order);
  // Return what is loaded to place words, or null; meanwhile, or if that fails, a sentence is in the middle.
  const said = make("p.waiting", { role: "status" });
  const load = async (promise) => {
    said.textContent = "Placing words…";
    said.classList.remove("unknown");
    element.append(said);
    try {
      const found = await promise;
      said.remove();
      return found;
    } catch (error) {
      said.textContent = error.message;
      said.classList.add("unknown");
      return null;
    }
  };
  // Write the titles of the axes, across and up.
  const setTitles = (titles) => ([bottom.textContent, left.textContent] = titles);
  return { element, box, map, load, setTitles, leave: () => hover(-1) };
}

// The map itself. Each axis of all words is from −1 to 1; `zoom` and `centre` say which part is seen.

const CLOSEST = 4000; // how far one can zoom in
const FARTHEST = 0.5;
const MOST_RINGS = 200; // around chosen words
const REACH = 14; // pixels: how far from a point the pointer still finds it
const FAST = 8; // milliseconds: where points take longer, fine screens show them coarsely in motion
const MAP_PRINT = 3; // pixels of a saved picture per pixel of the page
const REST = 160; // milliseconds after the last motion, when they are drawn sharply again

class WordMap {
  words = [];
  positions = new Float32Array(0);
  labels = [];
  lassoing = false;

  #layer;
  #above;
  #zoom = 1;
  #centre = [0, 0];
  #size = [1, 1]; // pixels of the screen, across and down
  #first = []; // rows in the order of their labels, where words have no axes
  #order = [];
  #labelled = []; // rows that may have labels, in their order
  #colours = new Uint8Array(0);
  #shades = new Uint8Array(0);
  #found = null;
  #chosen = [];
  #topics = [];
  #axes = false;
  #range = { x: [-1, 1], y: [-1, 1] };
  #asked = false;
  #loop = [];
  #hovered = -1;
  #ratio = 1;
  #slow = false; // whether a sharp picture takes too long while the map moves
  #later;

  constructor(element, events, ink) {
    this.element = element;
    this.events = events;
    this.canvas = element.appendChild(document.createElement("canvas"));
    this.overlay = element.appendChild(document.createElement("canvas"));
    for (const canvas of [this.canvas, this.overlay]) canvas.setAttribute("aria-hidden", "true");
    this.#layer = new PointLayer(this.canvas);
    this.#above = new Overlay(this.overlay, ink);
    new ResizeObserver(() => this.#resize()).observe(element);
    moveByHand(element, this);
    this.#resize();
  }

  // Show these words; they get labels in the given order of rows, or the outermost first on axes.
  setWords(words, order) {
    this.words = words;
    this.#first = order.filter((row) => row < words.length);
    this.#above.setWords(words);
    this.setColours(new Uint8Array(4 * words.length).fill(128));
  }

  // Put the words at places, x and y in turn. `bounds` must be in sight; with `keep` the part
  // that is seen stays; `axes` have lines through zero; `topics` are titles in a colour, each at a place.
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
    if (keep) return this.redraw();
    this.#order = axes ? outermost(places, wide, tall) : this.#first;
    this.setFound(this.#found);
    return this.fit();
  }

  setColours(colours) {
    this.#colours = colours;
    this.#paint();
  }

  setFound(rows) {
    this.#found = rows;
    this.#labelled = rows ? this.#order.filter((row) => rows.has(row)) : this.#order;
    this.#paint();
  }

  setChosen(rows) {
    this.#chosen = rows;
    this.redraw();
  }

  // See all of the map.
  fit() {
    this.position = [1, 0, 0];
  }

  // Zoom by a factor, keeping a pixel in its place: the middle by default.
  zoomBy(factor, x = this.#size[0] / 2, y = this.#size[1] / 2) {
    const before = this.#at(x, y);
    this.#zoom = Math.min(CLOSEST, Math.max(FARTHEST, this.#zoom * factor));
    const after = this.#at(x, y);
    this.#centre = this.#centre.map((value, k) => value + before[k] - after[k]);
    this.redraw();
  }

  // Move the map by some pixels.
  pan(right, down) {
    const { across, up } = this.#camera;
    this.#centre = [this.#centre[0] - right / across, this.#centre[1] + down / up];
    this.redraw();
  }

  // Bring a word to the middle.
  centreOn(row) {
    this.position = [Math.max(this.#zoom, 4), this.positions[2 * row], this.positions[2 * row + 1]];
  }

  // What is seen: the zoom, and the point in the middle. What is no number is ignored.
  get position() {
    return [this.#zoom, ...this.#centre];
  }

  set position([zoom, x, y]) {
    if (![zoom, x, y].every(Number.isFinite)) return;
    this.#zoom = Math.min(CLOSEST, Math.max(FARTHEST, zoom));
    this.#centre = [x, y];
    this.redraw();
  }

  get #camera() {
    const [width, height] = this.#size;
    const [across, up] = [0.46 * this.#zoom * width, 0.46 * this.#zoom * height];
    const [x, y] = this.#centre;
    return { across, up, left: width / 2 - across * x, top: height / 2 + up * y };
  }

  // The point of the map under a pixel.
  #at(x, y) {
    const { across, up, left, top } = this.#camera;
    return [(x - left) / across, (top - y) / up];
  }

  // The pixel of a word.
  pixel(row) {
    const { across, up, left, top } = this.#camera;
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
    const [width, height] = this.#size;
    this.#draw(MAP_PRINT);
    const svg = picture(width, height, label);
    svg.append(shape("image", { href: this.canvas.toDataURL(), width, height }));
    const halo = { stroke: colour("card"), "stroke-width": 3, "paint-order": "stroke" };
    for (const { text, x, y, height: tall, fill, bold } of this.labels) {
      const size = tall - 3;
      const look = { fill, "font-size": size, "font-weight": bold ? 700 : 400, ...halo };
      svg.append(svgText(text, { x: x + 3, y: y + size, ...look }));
    }
    this.redraw();
    return svg;
  }

  #draw(ratio) {
    const began = performance.now();
    const [camera, size] = [this.#camera, this.#size];
    const [width, height] = size;
    fitCanvas(this.canvas, width * ratio, height * ratio);
    fitCanvas(this.overlay, width * this.#ratio, height * this.#ratio);
    const scaled = Object.fromEntries(Object.entries(camera).map(([name, value]) => [name, ratio * value]));
    const wide = diameter(this.words.length) * ratio * Math.min(3, Math.max(1, this.#zoom) ** 0.3);
    this.#layer.draw(this.positions, this.#shades, wide, scaled, parseRgb(colour("card")));
    if (ratio > 1) this.#slow = performance.now() - began > FAST;
    this.#above.clear(this.#ratio, size);
    if (this.#axes) this.#above.drawAxes(camera, size, this.#range);
    this.labels = this.#above.drawLabels(this.positions, camera, size, {
      topics: this.#found ? [] : this.#topics,
      chosen: this.#chosen,
      others: this.#labelled,
      covered: this.#covered(),
    });
    const ringed = this.#chosen.slice(0, MOST_RINGS);
    if (this.#hovered >= 0) ringed.push(this.#hovered);
    this.#above.drawRings(ringed.map((row) => this.pixel(row)));
    this.#above.drawLoop(this.#loop);
    this.element.dispatchEvent(new CustomEvent("drawn", { detail: this }));
  }

  // What lies over the map, in its own pixels.
  #covered() {
    const corner = this.element.getBoundingClientRect();
    return this.events
      .covered()
      .map(({ x, y, width, height }) => ({ x: x - corner.x, y: y - corner.y, width, height }));
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

  // The word at a pixel, or −1.
  #wordAt(x, y) {
    const { across, up } = this.#camera;
    const fits = this.#found ? (row) => this.#found.has(row) : undefined;
    return nearestPoint(this.positions, ...this.#at(x, y), REACH / across, REACH / up, fits);
  }

  hover(x, y) {
    const row = this.#wordAt(x, y);
    if (row !== this.#hovered) {
      this.#hovered = row;
      this.redraw();
    }
    this.events.hover(row, ...(row >= 0 ? this.pixel(row) : []));
  }

  click(x, y) {
    const row = this.#wordAt(x, y);
    if (row >= 0) this.events.choose?.(row);
  }

  drawLoop(loop) {
    this.#loop = loop;
    this.redraw();
  }

  enclose(loop) {
    const points = [];
    for (let i = 0; i < loop.length; i += 2) points.push(...this.#at(loop[i], loop[i + 1]));
    this.events.loop?.(inside(this.positions, points));
  }
}

function fitCanvas(canvas, width, height) {
  const [wide, tall] = [Math.round(width), Math.round(height)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
}

// Rows in the order of their distance from zero, the farthest first.
function outermost(places, wide, tall) {
  const rows = Uint32Array.from({ length: places.length / 2 }, (_, row) => row);
  const away = rows.map((row) => 1e6 * Math.hypot(places[2 * row] / wide, places[2 * row + 1] / tall));
  return rows.sort((a, b) => away[b] - away[a]);
}

// The size of points: small ones where there are many.
function diameter(count) {
  return Math.max(2, Math.min(7, 14 - 2.4 * Math.log10(Math.max(count, 1))));
}

// Input on a map: dragging, pinching, scrolling, drawing a loop, and keys.

const STEP = 60; // pixels that an arrow key moves the map

function moveByHand(element, map) {
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
    map.hover(-Infinity, -Infinity);
    moved = 0;
    if (map.lassoing || event.shiftKey) loop = [x, y];
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) return map.hover(now.x, now.y);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (loop.length) {
      loop.push(now.x, now.y);
      map.drawLoop(loop);
    } else if (fingers.size === 1) {
      map.pan(now.x - before.x, now.y - before.y);
    } else {
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1] ?? now;
      const wider = Math.hypot(now.x - other.x, now.y - other.y);
      const narrow = Math.hypot(before.x - other.x, before.y - other.y) || 1;
      map.zoomBy(wider / narrow, (now.x + other.x) / 2, (now.y + other.y) / 2);
    }
    fingers.set(event.pointerId, now);
  });
  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const drawn = loop;
    loop = [];
    map.drawLoop(loop);
    if (drawn.length > 4 && moved > 10) map.enclose(drawn);
    else if (moved < 5 && event.type === "pointerup") map.click(place(event).x, place(event).y);
  };
  element.addEventListener("pointerup", lift);
  element.addEventListener("pointercancel", lift);
  element.addEventListener("pointerleave", () => map.hover(-Infinity, -Infinity));
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      map.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), x, y);
      map.hover(x, y);
    },
    { passive: false },
  );
  element.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    map.zoomBy(2, x, y);
  });
  element.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => map.pan(STEP, 0),
      ArrowRight: () => map.pan(-STEP, 0),
      ArrowUp: () => map.pan(0, STEP),
      ArrowDown: () => map.pan(0, -STEP),
      "+": () => map.zoomBy(1.5),
      "=": () => map.zoomBy(1.5),
      "-": () => map.zoomBy(1 / 1.5),
      0: () => map.fit(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
