// The training run replayed: words move through latent space as the closed form says.

import { entry, unpack } from "./components/arrays.js";
import { drawMarks } from "./components/chart.js";
import { singularValue } from "./components/dynamics.js";
import { player } from "./components/playing.js";
import { strengthLines, strengthMarks } from "./components/strengths.js";
import { wordFinder } from "./components/words.js";
import { addFigure, drawFigure, figureWidth } from "./figures.js";

const FREQUENT = 150; // always shown
const EXTREME = 25; // shown at either end of either axis
const SEARCHED = 4000; // among so many of the most frequent words

export function startReplay(report) {
  const directions = unpack(report.directions);
  const last = Math.max(...report.learningTimes.slice(0, directions.columns)) / report.unit;
  const find = wordFinder(report.words);
  const form = document.getElementById("replay");
  const { time: slider, x: chosenX, y: chosenY, follow, play } = form.elements;
  const view = { horizontal: 0, vertical: Math.min(1, directions.columns - 1), followed: null };
  slider.max = (1.15 * last).toFixed(4);
  slider.step = (slider.max / 1000).toFixed(6);
  slider.value = slider.max;
  for (const [menu, chosen] of [[chosenX, view.horizontal], [chosenY, view.vertical]]) {
    for (let k = 0; k < directions.columns; k++) menu.add(new Option(featureName(report, k), k));
    menu.value = chosen;
  }

  const now = () => Number(slider.value) * report.unit;
  const strength = (k, rescaled) => singularValue(report, k, rescaled * report.unit);
  let latent, curves; // the charts as they were last drawn
  const showTime = () => {
    drawMarks(latent, wordLayers(report, directions, view, now()));
    drawMarks(curves, strengthMarks(directions.columns, Number(slider.value), strength));
    describe();
  };
  const describe = () => {
    const learned = report.learningTimes.filter((time) => time <= now()).length;
    const text = `t = ${Number(slider.value).toFixed(2)} τ₁`;
    slider.setAttribute("aria-valuetext", text);
    document.getElementById("now").textContent =
      `${text} · ${learned} of ${report.learningTimes.length} features learned`;
  };
  const draws = [
    addFigure("latent", (element) => {
      const rows = chooseWords(report, directions, view);
      latent = drawFigure(element, latentChart(report, view, element));
      view.groups = groupWords(report, directions, view, rows, latent);
      drawMarks(latent, wordLayers(report, directions, view, now()));
    }),
    addFigure("curves", (element) => {
      curves = drawFigure(
        element,
        curveChart(report, view, directions.columns, Number(slider.max), strength),
      );
      drawMarks(curves, strengthMarks(directions.columns, Number(slider.value), strength));
    }),
  ];

  slider.addEventListener("input", () => {
    clock.stop();
    showTime();
  });
  form.addEventListener("change", (event) => {
    if (event.target === slider) return;
    view.horizontal = Number(chosenX.value);
    view.vertical = Number(chosenY.value);
    view.followed = find(follow.value) ?? null;
    const unknown = follow.value.trim() && view.followed === null;
    follow.setCustomValidity(unknown ? "This word is not among those of the page." : "");
    follow.reportValidity();
    for (const draw of draws) draw();
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  const clock = player(play, {
    end: Number(slider.max),
    now: () => Number(slider.value),
    show(time) {
      slider.value = time;
      showTime();
    },
  });
  describe();
}

function featureName(report, k) {
  const ends = report.features[k].map((end) => end.slice(0, 2).join(", "));
  return `Feature ${k + 1}: ${report.names[k] || ends.filter(Boolean).join(" ↔ ")}`;
}

// Where words are at a time: in the two chosen columns of W(t) = V*S(t).
function places(report, directions, view, rows, time) {
  const [x, y] = [view.horizontal, view.vertical].map((k) => {
    const size = singularValue(report, k, time);
    return rows.map((row) => entry(directions, row, k) * size);
  });
  return { x, y };
}

// Words that are worth showing on the two chosen features, and the range that they need.
function chooseWords(report, directions, view) {
  const searched = Math.min(SEARCHED, directions.rows);
  const candidates = new Set();
  const orders = [view.horizontal, view.vertical].map((k) =>
    Array.from({ length: searched }, (_, row) => row).sort(
      (a, b) => entry(directions, a, k) - entry(directions, b, k),
    ),
  );
  for (let place = 0; place < Math.min(EXTREME, searched); place++) {
    for (const order of orders) candidates.add(order[place]).add(order[searched - 1 - place]);
  }
  for (let row = 0; row < Math.min(FREQUENT, searched); row++) candidates.add(row);
  candidates.delete(view.followed);
  const rows = [...candidates];
  const followed = view.followed === null ? [] : [view.followed];
  view.range = finalRange(report, directions, view, [...followed, ...rows]);
  return rows;
}

function finalRange(report, directions, view, rows) {
  const at = places(report, directions, view, rows, Infinity);
  return [at.x, at.y].map((values) => {
    const low = Math.min(0, ...values);
    const high = Math.max(0, ...values);
    const room = 0.09 * (high - low) || 1;
    return [low - room, high + room];
  });
}

// Three groups of words: those without a label, those with one, and the one that is followed. A word
// has a label if it overlaps no earlier one where training ends.
function groupWords(report, directions, view, rows, chart) {
  const at = places(report, directions, view, rows, Infinity);
  const taken = [];
  const labelled = rows.filter((row, i) => {
    const [x, y] = [chart.x(at.x[i]), chart.y(at.y[i])];
    const half = 3.6 * report.words[row].length + 5;
    const box = [x - half, x + half, y - 17, y];
    if (taken.some((t) => box[0] < t[1] && t[0] < box[1] && box[2] < t[3] && t[2] < box[3])) {
      return false;
    }
    taken.push(box);
    return true;
  });
  const shown = new Set(labelled);
  const followed = view.followed === null ? [] : [view.followed];
  return [rows.filter((row) => !shown.has(row)), labelled, followed];
}

const WORD_LOOKS = [
  { colour: "muted", size: 2.5, opacity: 0.45 },
  { colour: "cool", size: 3, opacity: 0.9, label: { colour: "ink", size: 11.5 } },
  { colour: "warm", size: 5.5, opacity: 1, label: { colour: "warm", size: 15 } },
];

function wordLayers(report, directions, view, time) {
  return view.groups.flatMap((rows, group) => {
    const { label, ...look } = WORD_LOOKS[group];
    const names = rows.map((row) => report.words[row]);
    const at = places(report, directions, view, rows, time);
    const dots = { kind: "dots", ...at, ...look, names };
    return label ? [dots, { kind: "labels", ...at, ...label, names }] : [dots];
  });
}

// Wide screens show a landscape, telephones a square. Words may stand out over the edges.
function latentChart(report, view, element) {
  const [x, y] = [view.horizontal, view.vertical].map((k, side) => {
    const [positive, negative] = report.features[k].map((end) => end.slice(0, 2).join(", "));
    const [low, high] = view.range[side];
    return { title: `← ${negative} · feature ${k + 1} · ${positive} →`, low, high, ticks: [[0, ""]] };
  });
  return {
    label: "Words in the two chosen features at the chosen time",
    height: Math.max(360, Math.min(560, 1.1 * figureWidth(element))),
    left: 30,
    open: true,
    x,
    y,
    layers: [],
  };
}

function curveChart(report, view, count, end, strength) {
  const chosen = (k) => (k === view.horizontal ? "cool" : k === view.vertical ? "warm" : null);
  const strongest = Math.max(...report.eigenvalues.slice(0, count).map(Math.abs));
  return {
    label: "Strength of the first features over training time",
    height: 280,
    x: { title: "training time, t/τ₁", low: 0, high: 1.01 * end },
    y: { title: "strength s of each feature", low: 0, high: 1.06 * Math.sqrt(strongest) },
    layers: strengthLines(count, end, strength, chosen, (k) => featureName(report, k)),
  };
}
