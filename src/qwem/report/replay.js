// The training run replayed: words move through latent space as the closed form says.

import { entry, unpack } from "./components/arrays.js";
import { singularValue } from "./components/dynamics.js";
import { colour } from "./components/theme.js";
import { wordFinder } from "./components/words.js";
import { CONFIG, addFigure, axis, figureWidth, layout, plain } from "./look.js";

const FREQUENT = 150; // always shown
const EXTREME = 25; // shown at either end of either axis
const SEARCHED = 4000; // among so many of the most frequent words
const SECONDS = 16; // how long the whole run takes to play
const MARGIN = { l: 36, r: 12, t: 12, b: 44 }; // of the figure with the words

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
  const drawLatent = (element) => {
    view.groups = chooseWords(report, directions, view, element);
    Plotly.react(element, latentTraces(report, directions, view, now()),
      latentLayout(report, view, latentHeight(element)), CONFIG);
  };
  const drawCurves = (element) => {
    Plotly.react(element, curveTraces(report, view, directions.columns, Number(slider.max), now()),
      curveLayout(report, directions.columns, Number(slider.max)), CONFIG);
  };
  const latent = document.getElementById("latent");
  const curves = document.getElementById("curves");
  addFigure("latent", drawLatent);
  addFigure("curves", drawCurves);

  const showTime = () => {
    move(latent, view.groups.map((rows) => places(report, directions, view, rows, now())), 0);
    move(curves, currentPlaces(report, directions.columns, now()), directions.columns);
    describe();
  };
  const describe = () => {
    const learned = report.learningTimes.filter((time) => time <= now()).length;
    const text = `t = ${Number(slider.value).toFixed(2)} τ₁`;
    slider.setAttribute("aria-valuetext", text);
    document.getElementById("now").textContent =
      `${text} · ${learned} of ${report.learningTimes.length} features learned`;
  };
  const redraw = () => {
    drawLatent(latent);
    drawCurves(curves);
  };

  slider.addEventListener("input", () => {
    stop();
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
    redraw();
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  let playing = null; // while playing, the last frame's stamp and time, which no slider rounds
  const frame = (stamp) => {
    if (playing === null) return;
    const passed = Math.max(0, stamp - playing.stamp) / 1000;
    const time = Math.min(Number(slider.max), playing.time + (passed / SECONDS) * slider.max);
    playing = { stamp, time };
    slider.value = time;
    showTime();
    if (time < Number(slider.max)) requestAnimationFrame(frame);
    else stop();
  };
  const stop = () => {
    playing = null;
    play.textContent = "▶ Play";
  };
  play.addEventListener("click", () => {
    if (playing !== null) return stop();
    const over = Number(slider.value) >= Number(slider.max);
    playing = { stamp: performance.now(), time: over ? 0 : Number(slider.value) };
    play.textContent = "❚❚ Pause";
    requestAnimationFrame(frame);
  });
  describe();
}

// Put the traces from `first` on to new places. Axes stay, so only points need be drawn again.
function move(element, data, first) {
  Plotly.animate(element, { data, traces: data.map((_, i) => first + i) }, {
    mode: "immediate",
    frame: { duration: 0, redraw: false },
    transition: { duration: 0 },
  }).catch(() => {}); // a move that a later one has overtaken is rejected, and that is meant
}

function featureName(report, k) {
  const ends = report.features[k].map((end) => end.slice(0, 2).join(", "));
  return `Feature ${k + 1}: ${ends.filter(Boolean).join(" ↔ ")}`;
}

// Where words are at a time: in the two chosen columns of W(t) = V*S(t).
function places(report, directions, view, rows, time) {
  const [x, y] = [view.horizontal, view.vertical].map((k) => {
    const size = singularValue(report, k, time);
    return rows.map((row) => entry(directions, row, k) * size);
  });
  return { x, y };
}

// Three groups of words: those without a label, those with one, and the one that is followed.
function chooseWords(report, directions, view, element) {
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
  const followed = view.followed === null ? [] : [view.followed];
  for (const row of followed) candidates.delete(row);
  const rows = [...candidates];
  view.range = finalRange(report, directions, view, [...followed, ...rows]);
  const labelled = new Set(roomForLabels(report, directions, view, rows, element));
  return [rows.filter((row) => !labelled.has(row)), [...labelled], followed];
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

// Rows, in order, whose labels overlap no earlier one where training ends.
function roomForLabels(report, directions, view, rows, element) {
  const at = places(report, directions, view, rows, Infinity);
  const [[left, right], [low, high]] = view.range;
  const width = figureWidth(element) - MARGIN.l - MARGIN.r;
  const height = latentHeight(element) - MARGIN.t - MARGIN.b;
  const taken = [];
  return rows.filter((row, i) => {
    const x = ((at.x[i] - left) / (right - left)) * width;
    const y = ((at.y[i] - low) / (high - low)) * height;
    const half = 3.6 * report.words[row].length + 5;
    const box = [x - half, x + half, y, y + 17];
    if (taken.some((t) => box[0] < t[1] && t[0] < box[1] && box[2] < t[3] && t[2] < box[3])) {
      return false;
    }
    taken.push(box);
    return true;
  });
}

function latentTraces(report, directions, view, time) {
  const looks = [
    { mode: "markers", marker: { size: 5, color: colour("muted"), opacity: 0.45 } },
    { mode: "markers+text", marker: { size: 6, color: colour("cool"), opacity: 0.9 } },
    { mode: "markers+text", marker: { size: 11, color: colour("warm") } },
  ];
  return view.groups.map((rows, group) => ({
    ...places(report, directions, view, rows, time),
    text: rows.map((row) => plain(report.words[row])),
    textposition: "top center",
    textfont: { size: group === 2 ? 15 : 11.5, color: colour(group === 2 ? "warm" : "ink") },
    hovertemplate: "<b>%{text}</b><extra></extra>",
    cliponaxis: false,
    ...looks[group],
  }));
}

// Wide screens show a landscape, telephones a square.
function latentHeight(element) {
  return Math.max(360, Math.min(560, 1.1 * figureWidth(element)));
}

function latentLayout(report, view, height) {
  const titles = [view.horizontal, view.vertical].map((k) => {
    const [positive, negative] = report.features[k].map((end) => end.slice(0, 2).map(plain).join(", "));
    return `← ${negative} · feature ${k + 1} · ${positive} →`;
  });
  const still = { showticklabels: false, ticks: "", zeroline: true, showgrid: false };
  return layout({
    height,
    margin: MARGIN,
    hovermode: "closest",
    xaxis: axis(titles[0], { ...still, range: view.range[0] }),
    yaxis: axis(titles[1], { ...still, range: view.range[1] }),
  });
}

function curveTraces(report, view, count, end, time) {
  const grid = Array.from({ length: 241 }, (_, i) => (end * i) / 240);
  const traces = Array.from({ length: count }, (_, k) => {
    const chosen = k === view.horizontal ? "cool" : k === view.vertical ? "warm" : null;
    return {
      x: grid,
      y: grid.map((rescaled) => singularValue(report, k, rescaled * report.unit)),
      mode: "lines",
      line: { width: chosen ? 3 : 1.2, color: colour(chosen ?? "faint") },
      hovertemplate: `${plain(featureName(report, k))}<extra></extra>`,
    };
  });
  const [values, line] = currentPlaces(report, count, time);
  const colours = traces.map((trace) => trace.line.color);
  traces.push(
    { ...values, mode: "markers", marker: { size: 7, color: colours }, hoverinfo: "skip" },
    { ...line, mode: "lines", line: { color: colour("muted"), width: 1, dash: "dot" }, hoverinfo: "skip" },
  );
  return traces;
}

// What shows the present time: the strength of each feature, and a line across them all.
function currentPlaces(report, count, time) {
  const rescaled = time / report.unit;
  const values = Array.from({ length: count }, (_, k) => singularValue(report, k, time));
  return [
    { x: Array(count).fill(rescaled), y: values },
    { x: [rescaled, rescaled], y: [0, highest(report, count)] },
  ];
}

function highest(report, count) {
  return 1.06 * Math.sqrt(Math.max(...report.eigenvalues.slice(0, count).map(Math.abs)));
}

function curveLayout(report, count, end) {
  return layout({
    height: 280,
    hovermode: "closest",
    xaxis: axis("training time, t/τ₁", { zeroline: false, range: [0, 1.01 * end] }),
    yaxis: axis("strength s of each feature", { range: [0, highest(report, count)] }),
  });
}
