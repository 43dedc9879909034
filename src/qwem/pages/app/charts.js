// The charts of the application: bars, squares, spectra, training and relations.

import { picture, shape, svgText } from "./svg.js";
import { colour } from "./theme.js";

// Bars to the left and right of zero, one for each row, with its name.
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
      svgText(shown, {
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
  return svg;
}

// Text that is shortened where it is too long; all of it is under the pointer.
function cut(text, most, attributes) {
  const letters = [...text];
  const element = svgText(
    letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text,
    attributes,
  );
  if (letters.length > most) element.append(svgText(text, {}, "title"));
  return element;
}

// A square of cells, each with a number from 0 to 1.
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
      cell.append(svgText(name(i, j), {}, "title"));
      svg.append(cell);
    }),
  );
  const every = Math.max(1, Math.ceil(cells.length / 8));
  for (let i = 0; i < cells.length; i += every) {
    const at = (i + 0.5) * side;
    svg.append(
      svgText(String(i + 1), {
        ...text,
        x: edge.left + at,
        y: height - edge.bottom + 16,
        "text-anchor": "middle",
      }),
    );
    svg.append(
      svgText(String(i + 1), {
        ...text,
        x: edge.left - 6,
        y: edge.top + at + 4,
        "text-anchor": "end",
      }),
    );
  }
  svg.append(svgText(across, { ...text, x: width / 2, y: height - 6, "text-anchor": "middle" }));
  svg.append(
    svgText(down, {
      ...text,
      transform: `translate(12 ${(height - edge.bottom) / 2}) rotate(-90)`,
      "text-anchor": "middle",
    }),
  );
  element.replaceChildren(svg);
  return svg;
}

// A chart of eigenvalues, with the name of each feature under the pointer.
export function spectrumChart(eigenvalues, nameOf, height) {
  const sizes = eigenvalues.map(Math.abs);
  const dots = (negative) => {
    const ranks = sizes.map((_, k) => k + 1).filter((rank) => eigenvalues[rank - 1] < 0 === negative);
    return {
      kind: "dots",
      x: ranks,
      y: ranks.map((rank) => sizes[rank - 1]),
      colour: negative ? "warm" : "cool",
      names: ranks.map(nameOf),
    };
  };
  return {
    label: "Eigenvalues of all features, the largest first",
    height,
    x: {
      title: "feature, in order of its eigenvalue",
      low: 0.9,
      high: 1.1 * sizes.length,
      log: true,
    },
    y: {
      title: "eigenvalue |λ|",
      low: 0.85 * Math.min(...sizes),
      high: 1.15 * Math.max(...sizes),
      log: true,
    },
    layers: [dots(false), dots(true)],
  };
}

const MOMENTS = 160;

// Lines of how features grow, the strongest on top.
export function strengthLines(count, end, strength, chosen, nameOf) {
  const grid = Array.from({ length: MOMENTS + 1 }, (_, i) => (end * i) / MOMENTS);
  return Array.from({ length: count }, (_, place) => {
    const k = count - 1 - place;
    return {
      kind: "line",
      x: grid,
      y: grid.map((t) => strength(k, t)),
      colour: chosen(k) ?? "faint",
      width: chosen(k) ? 3 : 1.3,
      name: nameOf(k),
    };
  });
}

// Marks at a time: a line across, and a dot on each feature.
export function strengthMarks(count, t, strength) {
  const reached = Array.from({ length: count }, (_, k) => strength(k, t));
  return [
    { kind: "rule", x: t, colour: "muted" },
    { kind: "dots", x: Array(count).fill(t), y: reached, colour: "ink", size: 2.5 },
  ];
}

// Heights of a histogram of the bulk, of area one, and the width of its bars.
export function histogram(task) {
  const end = Math.max(task.edge, ...task.bulk);
  const bins = Math.max(6, Math.round(2 * Math.sqrt(task.bulk.length)));
  const width = end / bins;
  const heights = Array(bins).fill(0);
  for (const value of task.bulk) {
    heights[Math.min(bins - 1, Math.floor(value / width))] += 1 / (task.bulk.length * width);
  }
  return { heights, width };
}

// The top of the figure. The density of noise may diverge at zero, which is cut off.
export function gramTop(task) {
  const highest = Math.max(...histogram(task).heights);
  return 1.08 * Math.min(1.6 * highest, Math.max(highest, ...task.density[1]));
}

// A chart of the differences' spectrum: the bulk, what pure noise would be, and the spike.
export function gramChart(task, height) {
  const { heights, width } = histogram(task);
  const top = gramTop(task);
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
