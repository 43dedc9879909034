// Small charts in SVG: lines, dots, words and bars on two axes. Colours are written into the drawing,
// so that it looks the same when it is saved.

import { picture, shape, svgText } from "./svg.js";
import { colour } from "./theme.js";

const EDGE = { left: 58, right: 14, top: 12, bottom: 44 };

// Draw a chart into an element, in place of what was there.
export function drawChart(element, chart) {
  const width = Math.max(260, chart.width || element.clientWidth || 600);
  const { height, left = EDGE.left } = chart;
  const svg = picture(width, height, chart.label);
  const x = scale(chart.x, left, width - EDGE.right);
  const y = scale(chart.y, height - EDGE.bottom, EDGE.top);
  svg.append(...axes(chart, left, width, x, y));
  const clip = `clip${(clips += 1)}`;
  const box = {
    x: left,
    y: EDGE.top - 6,
    width: width - left - EDGE.right + 6,
    height: height - EDGE.bottom - EDGE.top + 6,
  };
  const path = shape("clipPath", { id: clip });
  path.append(shape("rect", box));
  svg.append(path);
  const within = chart.open ? {} : { "clip-path": `url(#${clip})` };
  const group = shape("g", within);
  for (const layer of chart.layers) group.append(...drawLayer(layer, x, y, height));
  const marks = shape("g", within);
  svg.append(group, marks);
  element.replaceChildren(svg);
  return { svg, marks, x, y, height };
}

let clips = 0;

// Draw layers over a chart in place of those that were drawn over it before, which is quick.
export function drawMarks({ marks, x, y, height }, layers) {
  marks.replaceChildren(...layers.flatMap((layer) => drawLayer(layer, x, y, height)));
}

function drawLayer(layer, x, y, height) {
  if (layer.kind === "rule") {
    const at = x(layer.x);
    const ends = { x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom };
    return [shape("line", { ...ends, stroke: colour(layer.colour), "stroke-dasharray": "3 3" })];
  }
  const points = Array.from(layer.x, (value, i) => [x(value), y(layer.y[i] ?? NaN)]).map(([a, b], i) => ({
    a,
    b,
    i,
  }));
  const seen = points.filter(({ a, b }) => Number.isFinite(a) && Number.isFinite(b));
  if (layer.kind === "line") {
    const path = seen.map(({ a, b }, i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    const line = shape("path", {
      d: path,
      fill: "none",
      stroke: colour(layer.colour),
      "stroke-width": layer.width ?? 1.5,
      "stroke-linejoin": "round",
    });
    if (layer.dash) line.setAttribute("stroke-dasharray", layer.dash);
    if (layer.name) line.append(svgText(layer.name, {}, "title"));
    return [line];
  }
  if (layer.kind === "labels") {
    const look = { fill: colour(layer.colour), "font-size": layer.size ?? 11.5 };
    return seen.map(({ a, b, i }) =>
      svgText(layer.names[i], {
        ...look,
        x: a.toFixed(1),
        y: (b - 6).toFixed(1),
        "text-anchor": "middle",
      }),
    );
  }
  if (layer.kind === "dots") {
    return seen.map(({ a, b, i }) => {
      const dot = shape("circle", {
        cx: a.toFixed(1),
        cy: b.toFixed(1),
        r: layer.size ?? 3.5,
        fill: colour(layer.colour),
        "fill-opacity": layer.opacity ?? 1,
      });
      if (layer.names?.[i]) dot.append(svgText(layer.names[i], {}, "title"));
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
    if (layer.names?.[i]) bar.append(svgText(layer.names[i], {}, "title"));
    return bar;
  });
}

function axes(chart, left, width, x, y) {
  const { height } = chart;
  const [muted, rule] = [colour("muted"), colour("rule")];
  const text = { fill: muted, "font-size": 12 };
  const bottom = height - EDGE.bottom;
  const parts = [];
  for (const [value, shown] of chart.x.ticks ?? ticksOf(chart.x, width / 90)) {
    parts.push(shape("line", { x1: x(value), x2: x(value), y1: EDGE.top, y2: bottom, stroke: rule }));
    parts.push(svgText(shown, { ...text, x: x(value), y: bottom + 17, "text-anchor": "middle" }));
  }
  for (const [value, shown] of chart.y.ticks ?? ticksOf(chart.y, height / 55)) {
    parts.push(
      shape("line", {
        x1: left,
        x2: width - EDGE.right,
        y1: y(value),
        y2: y(value),
        stroke: rule,
      }),
    );
    parts.push(svgText(shown, { ...text, x: left - 7, y: y(value) + 4, "text-anchor": "end" }));
  }
  const middle = (left + width - EDGE.right) / 2;
  const fits = (title, room) => Math.min(13, room / (0.54 * title.length)).toFixed(1); // on a narrow screen
  parts.push(
    svgText(chart.x.title, {
      ...text,
      x: middle,
      y: height - 8,
      "text-anchor": "middle",
      "font-size": fits(chart.x.title, width - left),
    }),
  );
  const half = (EDGE.top + bottom) / 2;
  parts.push(
    svgText(chart.y.title, {
      ...text,
      transform: `translate(14 ${half}) rotate(-90)`,
      "text-anchor": "middle",
      "font-size": fits(chart.y.title, bottom),
    }),
  );
  return parts;
}

function scale({ low, high, log }, from, to) {
  const way = log ? Math.log : (value) => value;
  const [start, end] = [way(low), way(high)];
  return (value) => from + ((way(value) - start) / (end - start || 1)) * (to - from);
}

// Round numbers on an axis.
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
    const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((size) => size >= rough) ?? 10 * power;
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) ticks.push(i * step);
  }
  const near = (value) => value >= low * (low > 0 ? 0.999 : 1.001) && value <= high * 1.001;
  return ticks.filter(near).map((value) => [value, shortNumber(value)]);
}

// A number in few characters.
export function shortNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3))
    return value.toExponential(0).replace("e+", "e").replace("-", "−");
  return String(Number(value.toPrecision(3))).replace("-", "−");
}
