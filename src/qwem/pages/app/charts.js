// Charts in SVG, and the elements that drawings are made of. Text is always text.

import { Room } from "./layers.js";
import { colour } from "./theme.js";

const FONT = "system-ui, sans-serif";
export const SVG = "http://www.w3.org/2000/svg";

// An empty picture, with its name for screen readers.
export function picture(width, height, label) {
  return shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": label,
    "font-family": FONT,
  });
}

// An element of a drawing; its name is under the pointer.
export function shape(tag, attributes, name) {
  const element = setAttributes(document.createElementNS(SVG, tag), attributes);
  if (name) element.appendChild(document.createElementNS(SVG, "title")).textContent = name;
  return element;
}

// Numbers are rounded, which is finer than a pixel.
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(typeof value === "number" ? Math.round(100 * value) / 100 : value));
  }
  return element;
}

export function svgText(text, attributes, name) {
  const element = shape("text", attributes, name);
  element.prepend(text);
  return element;
}

// Small charts in SVG: lines, dots, words and bars on two axes. Colours are written into the drawing,
// so that it looks the same when it is saved.

const EDGE = { right: 14, top: 12, bottom: 44 };

// Draw a chart into an element, in place of what was there.
export function drawChart(element, chart) {
  const width = Math.max(260, chart.width || element.clientWidth || 600);
  const { height } = chart;
  const ticks = {
    x: chart.x.ticks ?? ticksOf(chart.x, width / 90),
    y: chart.y.ticks ?? ticksOf(chart.y, height / 55),
  };
  // As far from the left as the longest number needs, beside the title.
  const left = ticks.y.length ? 36 + 7 * Math.max(...ticks.y.map(([, shown]) => shown.length)) : 14;
  const svg = picture(width, height, chart.label);
  const x = scale(chart.x, left, width - EDGE.right);
  const y = scale(chart.y, height - EDGE.bottom, EDGE.top);
  svg.append(...axes(chart, ticks, left, width, x, y));
  const clip = `clip${(clips += 1)}`;
  const path = shape("clipPath", { id: clip });
  const [wide, tall] = [width - left - EDGE.right + 6, height - EDGE.bottom - EDGE.top + 6];
  path.append(shape("rect", { x: left, y: EDGE.top - 6, width: wide, height: tall }));
  const [group, marks] = [0, 1].map(() => shape("g", { "clip-path": `url(#${clip})` }));
  group.append(...chart.layers.flatMap((layer) => drawLayer(layer, x, y, height)));
  svg.append(path, group, marks);
  element.replaceChildren(svg);
  return { marks, x, y, height };
}

let clips = 0;

// Draw layers over a chart in place of those that were drawn over it before, which is quick.
export function drawMarks({ marks, x, y, height }, layers) {
  marks.replaceChildren(...layers.flatMap((layer) => drawLayer(layer, x, y, height)));
}

function drawLayer(layer, x, y, height) {
  const { kind, names = [] } = layer;
  const fill = layer.colour && colour(layer.colour);
  if (kind === "rule") {
    const ends = { x1: x(layer.x), x2: x(layer.x), y1: EDGE.top, y2: height - EDGE.bottom };
    return [shape("line", { ...ends, stroke: fill, "stroke-dasharray": "3 3" })];
  }
  const points = Array.from(layer.x, (value, i) => ({ a: x(value), b: y(layer.y[i] ?? NaN), i }));
  const seen = points.filter(({ a, b }) => Number.isFinite(a) && Number.isFinite(b));
  if (kind === "line") {
    const d = seen.map(({ a, b }, i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    const look = {
      fill: "none",
      stroke: fill,
      "stroke-width": layer.width ?? 1.5,
      "stroke-linejoin": "round",
    };
    return [shape("path", { d, ...look }, layer.name)];
  }
  if (kind === "labels") {
    const look = { fill, "font-size": layer.size, "text-anchor": "middle" };
    const room = new Room();
    return seen.flatMap(({ a, b, i }) => {
      // Above its place, or below it, or farther off; not at all if other labels are everywhere.
      const width = 0.56 * layer.size * names[i].length;
      const tries = [0, 1, 2].flatMap((step) => [b - 6 - step * layer.size, b + (step + 1.3) * layer.size]);
      const box = (y) => ({ x: a - width / 2, y: y - layer.size, width, height: layer.size });
      const y = tries.find((each) => room.take(box(each)));
      return y === undefined ? [] : [svgText(names[i], { ...look, x: a, y })];
    });
  }
  if (kind === "dots")
    return seen.map(({ a, b, i }) => shape("circle", { cx: a, cy: b, r: layer.size ?? 3.5, fill }, names[i]));
  if (kind === "cells") {
    const [wide, tall] = [x(1) - x(0), y(1) - y(0)].map(Math.abs);
    const size = { width: wide - 0.5, height: tall - 0.5 };
    return seen.map(({ a, b, i }) =>
      shape("rect", { x: a - wide / 2, y: b - tall / 2, ...size, fill: layer.fills[i] }, names[i]),
    );
  }
  const zero = y(0);
  return seen.map(({ b, i }) => {
    const [left, right] = [x(layer.x[i] - layer.width / 2), x(layer.x[i] + layer.width / 2)];
    const size = { width: Math.max(0.5, right - left - 1), height: Math.abs(b - zero) };
    return shape("rect", { x: left, y: Math.min(b, zero), ...size, fill, stroke: colour(layer.edge) });
  });
}

function axes(chart, ticks, left, width, x, y) {
  const stroke = colour("rule");
  const [bottom, right] = [chart.height - EDGE.bottom, width - EDGE.right];
  const text = (shown, anchor, size, more) =>
    svgText(shown, { fill: colour("muted"), "text-anchor": anchor, "font-size": size, ...more });
  const fits = (title, room) => Math.min(13, room / (0.54 * title.length)); // on a narrow screen
  const half = (EDGE.top + bottom) / 2;
  return [
    ...ticks.x.flatMap(([value, shown]) => [
      shape("line", { x1: x(value), x2: x(value), y1: EDGE.top, y2: bottom, stroke }),
      text(shown, "middle", 12, { x: x(value), y: bottom + 17 }),
    ]),
    ...ticks.y.flatMap(([value, shown]) => [
      shape("line", { x1: left, x2: right, y1: y(value), y2: y(value), stroke }),
      text(shown, "end", 12, { x: left - 7, y: y(value) + 4 }),
    ]),
    text(chart.x.title, "middle", fits(chart.x.title, width - left), {
      x: (left + right) / 2,
      y: chart.height - 8,
    }),
    text(chart.y.title, "middle", fits(chart.y.title, bottom), {
      transform: `translate(14 ${half}) rotate(-90)`,
    }),
  ];
}

function scale({ low, high, log }, from, to) {
  const way = log ? Math.log : (value) => value;
  const [start, end] = [way(low), way(high)];
  return (value) => from + ((way(value) - start) / (end - start || 1)) * (to - from);
}

// Round numbers on an axis.
function ticksOf({ low, high, log }, about) {
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
    const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((size) => size >= rough) ?? 10 * power;
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) ticks.push(i * step);
  }
  const near = (value) => value >= low * (low > 0 ? 0.999 : 1.001) && value <= high * 1.001;
  return ticks.filter(near).map((value) => [value, shortNumber(value)]);
}

// A number in few characters.
function shortNumber(value) {
  const size = Math.abs(value);
  const far = size !== 0 && (size >= 1e6 || size < 1e-3);
  const shown = far
    ? value.toExponential(0).replace("e+", "e")
    : Number(value.toPrecision(3)).toLocaleString("en");
  return shown.replaceAll("-", "−");
}

// Charts that views draw: bars, squares, and those of relations.

// Bars to the left and right of zero for rows of a name and a value. `format` says how a value is
// written; with `follow` a name can be pressed, except those that come last and are no words.
export function drawBars(element, label, rows, { format, follow, words = rows.length }) {
  const width = Math.max(260, element.clientWidth || 500);
  const [line, top] = [26, 6];
  const height = Math.max(1, rows.length) * line + 2 * top;
  const svg = picture(width, height, label);
  const names = Math.min(270, width * 0.48);
  const numbers = 52;
  const largest = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-12);
  const least = Math.min(0, ...rows.map(([, value]) => value)) / largest;
  const room = (width - names - numbers - 8) / (1 - least);
  const zero = names + 6 - least * room;
  rows.forEach(([name, value], i) => {
    const y = top + i * line;
    const long = (Math.abs(value) / largest) * room;
    const [x, fill] = value < 0 ? [zero - long, colour("warm")] : [zero, colour("cool")];
    const most = Math.floor(names / 7.5);
    const cut = [...name].length > most;
    const short = cut ? `${[...name].slice(0, most - 1).join("")}…` : name;
    const look = { y: y + 17, "text-anchor": "end" };
    const text = svgText(
      short,
      { ...look, x: names - 2, fill: colour("ink"), "font-size": 13 },
      cut ? name : "",
    );
    if (follow && i < words) {
      setAttributes(text, { class: "follow", role: "link", tabindex: 0 });
      text.addEventListener("click", () => follow(name));
      text.addEventListener("keydown", ({ key }) => key === "Enter" && follow(name));
    }
    svg.append(
      shape("rect", { x, y: y + 4, width: Math.max(long, 0.5), height: line - 8, rx: 2, fill }, name),
      text,
      svgText(format(value), { ...look, x: width - 2, fill: colour("muted"), "font-size": 12 }),
    );
  });
  svg.append(shape("line", { x1: zero, x2: zero, y1: 0, y2: height, stroke: colour("faint") }));
  element.replaceChildren(svg);
  return svg;
}

// A chart of a square of cells, each with a number from 0 to 1.
export function heatChart({ label, cells, across, down, fill, name }, width) {
  const count = cells.length;
  const every = Math.max(1, Math.ceil(count / 8));
  const ranks = Array.from({ length: Math.ceil(count / every) }, (_, i) => 1 + i * every);
  const axis = { ticks: ranks.map((rank) => [rank, String(rank)]), low: 0.5, high: count + 0.5 };
  const each = cells.flatMap((row, i) => row.map((value, j) => ({ i, j, value })));
  return {
    label,
    width,
    height: Math.max(260, width) - 50 - EDGE.right + EDGE.top + EDGE.bottom,
    x: { ...axis, title: across },
    y: { ...axis, title: down, low: axis.high, high: axis.low },
    layers: [
      {
        kind: "cells",
        x: each.map(({ j }) => j + 1),
        y: each.map(({ i }) => i + 1),
        fills: each.map(({ value }) => fill(value)),
        names: each.map(({ i, j }) => name(i, j)),
      },
    ],
  };
}

// Heights of a histogram of the bulk, of area one, and the width of its bars.
function histogram(task) {
  const end = Math.max(task.edge, ...task.bulk);
  const bins = Math.max(6, Math.round(2 * Math.sqrt(task.bulk.length)));
  const width = end / bins;
  const heights = Array(bins).fill(0);
  for (const value of task.bulk) {
    heights[Math.min(bins - 1, Math.floor(value / width))] += 1 / (task.bulk.length * width);
  }
  return { heights, width };
}

// A chart of the differences' spectrum: the bulk, what pure noise would be, and the spike.
export function gramChart(task, height) {
  const { heights, width } = histogram(task);
  const highest = Math.max(...heights);
  // The density of noise may diverge at zero, which is cut off.
  const top = 1.08 * Math.min(1.6 * highest, Math.max(highest, ...task.density[1]));
  const spike = 0.32 * top;
  const centres = heights.map((_, i) => (i + 0.5) * width);
  return {
    label: `Eigenvalues of the differences: noise up to ${task.edge.toFixed(2)}, spike at ${task.spike.toFixed(2)}`,
    height,
    x: {
      title: "eigenvalue of the differences’ Gram matrix, G/d",
      low: 0,
      high: 1.08 * Math.max(task.spike, task.edge, ...task.bulk),
    },
    y: { title: "density", low: 0, high: top },
    layers: [
      { kind: "bars", x: centres, y: heights, width, colour: "wash", edge: "cool" },
      {
        kind: "line",
        x: task.density[0],
        y: task.density[1].map((value) => Math.min(value, 2 * top)),
        colour: "warm",
        width: 2.5,
        name: "pure noise (Marchenko–Pastur)",
      },
      { kind: "line", x: [task.spike, task.spike], y: [0, spike], colour: "cool", width: 2.5 },
      { kind: "dots", x: [task.spike], y: [spike], colour: "cool", size: 5, names: ["spike"] },
      { kind: "labels", x: [task.spike], y: [spike], colour: "ink", size: 13, names: ["spike"] },
    ],
  };
}

// A chart of signal to noise against the dimension, of one relation and maybe of others behind it.
export function signalChart(chosen, others, height) {
  const known = ({ snr }) => snr.map((value) => value ?? NaN);
  const shown = [chosen, ...others];
  const line = { kind: "line", x: chosen.dims, y: known(chosen) };
  return {
    label: "Signal to noise against the number of dimensions",
    height,
    x: {
      title: "number of dimensions d",
      low: Math.max(1, chosen.dims[0] * 0.9),
      high: (chosen.dims.at(-1) ?? 2) * 1.1,
      log: true,
    },
    y: {
      title: "signal to noise",
      low: 0,
      high: 1.1 * Math.max(0.1, ...shown.flatMap(known).filter(Number.isFinite)),
    },
    layers: [
      ...others.map((other) => ({
        kind: "line",
        x: other.dims,
        y: known(other),
        colour: "faint",
        width: 1.3,
        name: other.name,
      })),
      { ...line, colour: "cool", width: 2.5 },
      {
        ...line,
        kind: "dots",
        colour: "cool",
        names: chosen.dims.map(
          (d, i) =>
            `d = ${d}: ${known(chosen)[i].toFixed(2)}, ${(100 * (chosen.accuracy[i] ?? 0)).toFixed(0)}% of analogies answered`,
        ),
      },
    ],
  };
}

// A chart of the words of a shape where they are, and where theory puts them; on a cycle or a line the
// predicted places are joined in order. One unit is as long across as up, except against an order.
export function shapeChart({ name, kind, words, found, predicted }, width, height) {
  const both = [...found, ...predicted];
  const [across, up] = [0, 1].map((k) => {
    const values = both.map((place) => place[k]);
    return [Math.min(...values), Math.max(...values)];
  });
  const unit = Math.max((across[1] - across[0]) / Math.max(260, width), (up[1] - up[0]) / height) * 0.6;
  const isOrder = kind === "line";
  const axis = ([low, high], room) => {
    const half = isOrder ? 0.6 * (high - low) : unit * room;
    return { title: "", low: (low + high) / 2 - half, high: (low + high) / 2 + half, ticks: [] };
  };
  const layer = (places, more) => ({ x: places.map(([x]) => x), y: places.map(([, y]) => y), ...more });
  const ring = kind === "cycle" ? [...predicted, predicted[0]] : predicted;
  const errors = words.map((_, i) =>
    layer([predicted[i], found[i]], { kind: "line", colour: "faint", width: 0.7 }),
  );
  return {
    label: `${name}: where the words are, and where theory predicts them`,
    height,
    x: axis(across, Math.max(260, width)),
    y: axis(up, height),
    layers: [
      ...(kind === "cycle" || isOrder ? [layer(ring, { kind: "line", colour: "faint", width: 1.5 })] : []),
      ...errors,
      layer(predicted, { kind: "dots", colour: "faint", size: 3.5, names: words }),
      layer(found, { kind: "dots", colour: "cool", size: 4, names: words }),
      layer(found, { kind: "labels", colour: "ink", size: 12.5, names: words }),
    ],
  };
}
