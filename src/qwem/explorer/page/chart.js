// Small charts in SVG: lines, dots, bars and cells on two axes. Colours are written into the drawing,
// so that it looks the same when it is saved.

import { colour } from "./components/theme.js";
import { make } from "./dom.js";

/**
 * @typedef {object} ChartAxis
 * @property {string} title
 * @property {number} low
 * @property {number} high
 * @property {boolean} [log]
 * @property {[number, string][]} [ticks]
 */

/**
 * What is drawn: `colour` is a name of the style sheet.
 * @typedef {{ kind: "line", x: ArrayLike<number>, y: ArrayLike<number>, colour: string, width?: number, dash?: string, name?: string }
 *   | { kind: "dots", x: ArrayLike<number>, y: ArrayLike<number>, colour: string, size?: number, names?: string[] }
 *   | { kind: "bars", x: ArrayLike<number>, y: ArrayLike<number>, width: number, colour: string, edge: string, names?: string[] }
 *   | { kind: "rule", x: number, colour: string, text?: string }} Layer
 */

/**
 * @typedef {object} Chart
 * @property {string} label what a screen reader says
 * @property {number} height
 * @property {ChartAxis} x
 * @property {ChartAxis} y
 * @property {Layer[]} layers
 */

const FONT = "system-ui, sans-serif";
const SVG = "http://www.w3.org/2000/svg";
const EDGE = { left: 58, right: 14, top: 12, bottom: 44 };

/**
 * Draw a chart into an element, in place of what was there.
 * @param {Element} element
 * @param {Chart} chart
 */
export function drawChart(element, chart) {
  const width = Math.max(260, element.clientWidth || 600);
  const { height } = chart;
  const svg = picture(width, height, chart.label);
  const x = scale(chart.x, EDGE.left, width - EDGE.right);
  const y = scale(chart.y, height - EDGE.bottom, EDGE.top);
  svg.append(...axes(chart, width, x, y));
  const clip = `clip${(clips += 1)}`;
  const box = {
    x: EDGE.left,
    y: EDGE.top - 6,
    width: width - EDGE.left - EDGE.right + 6,
    height: height - EDGE.bottom - EDGE.top + 6,
  };
  svg.append(wrap("clipPath", { id: clip }, shape("rect", box)));
  const group = shape("g", { "clip-path": `url(#${clip})` });
  for (const layer of chart.layers) group.append(...drawLayer(layer, x, y, height));
  const marks = shape("g", { "clip-path": `url(#${clip})` });
  svg.append(group, marks);
  element.replaceChildren(svg);
  return { svg: /** @type {SVGSVGElement} */ (svg), marks, x, y, height };
}

let clips = 0;

/**
 * Draw layers over a chart in place of those that were drawn over it before, which is quick.
 * @param {ReturnType<typeof drawChart>} chart
 * @param {Layer[]} layers
 */
export function drawMarks({ marks, x, y, height }, layers) {
  marks.replaceChildren(...layers.flatMap((layer) => drawLayer(layer, x, y, height)));
}

/**
 * @param {Layer} layer
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {number} height
 */
function drawLayer(layer, x, y, height) {
  if (layer.kind === "rule") {
    const at = x(layer.x);
    const line = shape("line", {
      x1: at,
      x2: at,
      y1: EDGE.top,
      y2: height - EDGE.bottom,
      stroke: colour(layer.colour),
      "stroke-dasharray": "3 3",
    });
    if (!layer.text) return [line];
    return [
      line,
      words(layer.text, {
        x: at + 4,
        y: EDGE.top + 10,
        fill: colour(layer.colour),
        "font-size": 12,
      }),
    ];
  }
  const points = Array.from(layer.x, (value, i) => [x(value), y(layer.y[i] ?? NaN)]).map(
    ([a, b], i) => ({ a, b, i }),
  );
  const seen = points.filter(({ a, b }) => Number.isFinite(a) && Number.isFinite(b));
  if (layer.kind === "line") {
    const path = seen
      .map(({ a, b }, i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`)
      .join("");
    const line = shape("path", {
      d: path,
      fill: "none",
      stroke: colour(layer.colour),
      "stroke-width": layer.width ?? 1.5,
      "stroke-linejoin": "round",
    });
    if (layer.dash) line.setAttribute("stroke-dasharray", layer.dash);
    if (layer.name) line.append(words(layer.name, {}, "title"));
    return [line];
  }
  if (layer.kind === "dots") {
    return seen.map(({ a, b, i }) => {
      const dot = shape("circle", {
        cx: a.toFixed(1),
        cy: b.toFixed(1),
        r: layer.size ?? 3.5,
        fill: colour(layer.colour),
      });
      if (layer.names?.[i]) dot.append(words(layer.names[i], {}, "title"));
      return dot;
    });
  }
  const zero = y(0);
  return seen.map(({ b, i }) => {
    const [left, right] = [x(layer.x[i] - layer.width / 2), x(layer.x[i] + layer.width / 2)];
    const bar = shape("rect", {
      x: left.toFixed(1),
      y: Math.min(b, zero).toFixed(1),
      width: Math.max(0.5, right - left - 1).toFixed(1),
      height: Math.abs(b - zero).toFixed(1),
      fill: colour(layer.colour),
      stroke: colour(layer.edge),
    });
    if (layer.names?.[i]) bar.append(words(layer.names[i], {}, "title"));
    return bar;
  });
}

/**
 * @param {Chart} chart
 * @param {number} width
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 */
function axes(chart, width, x, y) {
  const { height } = chart;
  const [muted, rule] = [colour("muted"), colour("rule")];
  const text = { fill: muted, "font-size": 12 };
  const bottom = height - EDGE.bottom;
  const parts = [];
  for (const [value, shown] of chart.x.ticks ?? ticksOf(chart.x, width / 90)) {
    parts.push(
      shape("line", { x1: x(value), x2: x(value), y1: EDGE.top, y2: bottom, stroke: rule }),
    );
    parts.push(words(shown, { ...text, x: x(value), y: bottom + 17, "text-anchor": "middle" }));
  }
  for (const [value, shown] of chart.y.ticks ?? ticksOf(chart.y, height / 55)) {
    parts.push(
      shape("line", {
        x1: EDGE.left,
        x2: width - EDGE.right,
        y1: y(value),
        y2: y(value),
        stroke: rule,
      }),
    );
    parts.push(words(shown, { ...text, x: EDGE.left - 7, y: y(value) + 4, "text-anchor": "end" }));
  }
  const middle = (EDGE.left + width - EDGE.right) / 2;
  const fits = Math.min(13, (width - EDGE.left) / (0.54 * chart.x.title.length)); // on a narrow screen
  parts.push(
    words(chart.x.title, {
      ...text,
      x: middle,
      y: height - 8,
      "text-anchor": "middle",
      "font-size": fits.toFixed(1),
    }),
  );
  const half = (EDGE.top + bottom) / 2;
  parts.push(
    words(chart.y.title, {
      ...text,
      transform: `translate(14 ${half}) rotate(-90)`,
      "text-anchor": "middle",
      "font-size": 13,
    }),
  );
  return parts;
}

/**
 * @param {ChartAxis} axis
 * @param {number} from
 * @param {number} to
 * @returns {(value: number) => number}
 */
function scale({ low, high, log }, from, to) {
  const way = log ? Math.log : (/** @type {number} */ value) => value;
  const [start, end] = [way(low), way(high)];
  return (value) => from + ((way(value) - start) / (end - start || 1)) * (to - from);
}

/**
 * Round numbers on an axis.
 * @param {ChartAxis} axis
 * @param {number} about how many
 * @returns {[number, string][]}
 */
export function ticksOf({ low, high, log }, about) {
  const ticks = [];
  if (log) {
    const decades = Math.log10(high / low);
    const steps = decades > about / 1.5 ? [1] : decades > about / 3 ? [1, 3] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const step of steps) ticks.push(step * 10 ** power);
    }
  } else {
    const rough = (high - low) / Math.max(1, about) || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step =
      [1, 2, 2.5, 5, 10].map((part) => part * power).find((size) => size >= rough) ?? 10 * power;
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++)
      ticks.push(i * step);
  }
  const near = (/** @type {number} */ value) =>
    value >= low * (low > 0 ? 0.999 : 1.001) && value <= high * 1.001;
  return ticks.filter(near).map((value) => [value, shortNumber(value)]);
}

/**
 * A number in few characters.
 * @param {number} value
 */
export function shortNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3))
    return value.toExponential(0).replace("e+", "e").replace("-", "−");
  return String(Number(value.toPrecision(3))).replace("-", "−");
}

/**
 * A square of cells, each with a number from 0 to 1.
 * @param {Element} element
 * @param {{ label: string, cells: number[][], across: string, down: string, fill: (value: number) => string,
 *   name: (row: number, column: number) => string }} heat
 */
export function drawHeat(element, { label, cells, across, down, fill, name }) {
  const width = Math.min(620, Math.max(260, element.clientWidth || 500));
  const edge = { left: 46, top: 8, bottom: 42 };
  const side = (width - edge.left - 8) / Math.max(1, cells.length);
  const height = edge.top + side * cells.length + edge.bottom;
  const svg = picture(width, height, label);
  const text = { fill: colour("muted"), "font-size": 12 };
  cells.forEach((row, i) =>
    row.forEach((value, j) => {
      const cell = shape("rect", {
        x: (edge.left + j * side).toFixed(2),
        y: (edge.top + i * side).toFixed(2),
        width: Math.max(1, side - 0.5).toFixed(2),
        height: Math.max(1, side - 0.5).toFixed(2),
        fill: fill(value),
      });
      cell.append(words(name(i, j), {}, "title"));
      svg.append(cell);
    }),
  );
  const every = Math.max(1, Math.ceil(cells.length / 8));
  for (let i = 0; i < cells.length; i += every) {
    const at = (i + 0.5) * side;
    svg.append(
      words(String(i + 1), {
        ...text,
        x: edge.left + at,
        y: height - edge.bottom + 16,
        "text-anchor": "middle",
      }),
    );
    svg.append(
      words(String(i + 1), {
        ...text,
        x: edge.left - 6,
        y: edge.top + at + 4,
        "text-anchor": "end",
      }),
    );
  }
  svg.append(words(across, { ...text, x: width / 2, y: height - 6, "text-anchor": "middle" }));
  svg.append(
    words(down, {
      ...text,
      transform: `translate(12 ${(height - edge.bottom) / 2}) rotate(-90)`,
      "text-anchor": "middle",
    }),
  );
  element.replaceChildren(svg);
  return /** @type {SVGSVGElement} */ (svg);
}

/**
 * Bars to the left and right of zero, one for each row, with its name.
 * @param {Element} element
 * @param {{ label: string, rows: { name: string, value: number, shown: string }[] }} bars
 */
export function drawBars(element, { label, rows }) {
  const width = Math.max(260, element.clientWidth || 500);
  const [line, top] = [26, 6];
  const height = Math.max(1, rows.length) * line + 2 * top;
  const svg = picture(width, height, label);
  const names = Math.min(270, width * 0.48);
  const numbers = 52;
  const largest = Math.max(...rows.map(({ value }) => Math.abs(value)), 1e-12);
  const least = Math.min(0, ...rows.map(({ value }) => value)) / largest;
  const room = (width - names - numbers - 8) / (1 - least);
  const zero = names + 6 - least * room;
  rows.forEach(({ name, value, shown }, i) => {
    const y = top + i * line;
    const long = (Math.abs(value) / largest) * room;
    svg.append(
      shape("rect", {
        x: value < 0 ? zero - long : zero,
        y: y + 4,
        width: Math.max(long, 0.5),
        height: line - 8,
        rx: 2,
        fill: colour(value < 0 ? "warm" : "cool"),
      }),
      cut(name, Math.floor(names / 7.5), {
        x: names - 2,
        y: y + 17,
        fill: colour("ink"),
        "font-size": 13,
        "text-anchor": "end",
      }),
      words(shown, {
        x: width - 2,
        y: y + 17,
        fill: colour("muted"),
        "font-size": 12,
        "text-anchor": "end",
      }),
    );
  });
  svg.append(shape("line", { x1: zero, x2: zero, y1: 0, y2: height, stroke: colour("faint") }));
  element.replaceChildren(svg);
  return /** @type {SVGSVGElement} */ (svg);
}

/**
 * Text that is shortened where it is too long; all of it is under the pointer.
 * @param {string} text
 * @param {number} most
 * @param {Record<string, string | number>} attributes
 */
function cut(text, most, attributes) {
  const letters = [...text];
  const element = words(
    letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text,
    attributes,
  );
  if (letters.length > most) element.append(words(text, {}, "title"));
  return element;
}

/**
 * An empty picture, with its name for who can't see it.
 * @param {number} width
 * @param {number} height
 * @param {string} label
 */
function picture(width, height, label) {
  return shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": label,
    "font-family": FONT,
  });
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {Element} child
 */
function wrap(tag, attributes, child) {
  const element = shape(tag, attributes);
  element.append(child);
  return element;
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} attributes
 * @param {string} tag
 */
function words(text, attributes, tag = "text") {
  const element = shape(tag, attributes);
  element.textContent = text;
  return element;
}

/** A box that holds a chart. */
export function chartBox() {
  return make("div", { className: "chart" });
}
