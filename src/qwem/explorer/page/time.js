// Time and dimension: words move as the closed form of training says, computed here.

import { numberIn } from "./address.js";
import { player } from "./components/playing.js";
import { colour } from "./components/theme.js";
import { chartBox, fillMenu, labelled, make, menu, wordField } from "./dom.js";
import { weightAt } from "./embedded.js";
import { boundsOf } from "./nearby.js";
import { paintAll, parseRgb } from "./palette.js";
import { pictureOf, saveButtons } from "./saving.js";
import { trainingCharts } from "./traincharts.js";
import { axisTitle, featureChoices, headed, mapLook, wordTip } from "./views.js";
import { WordMap } from "./wordmap.js";

/** @typedef {import("./main.js").App} App */

const MOVING = 10_000; // words that move
const FEATURES_TO_CHOOSE = 100;

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function timeView(element, app) {
  const space = app.space.time
    ? app.space
    : (app.model.spaces.find(({ time }) => time) ?? app.space);
  const words = app.words.slice(0, MOVING);
  const learning = space.learning_times ?? [];
  const end =
    1.15 * Math.max(...learning.slice(0, Math.min(space.dim, 24)).filter(Number.isFinite));
  const state = { t: end, d: space.dim, x: 1, y: Math.min(2, space.dim), word: "" };
  /** @type {[Float32Array, Float32Array] | null} */
  let columns = null;
  let shownAxes = "";
  /** @type {import("./source.js").Trace | null} */
  let trace = null;
  const places = new Float32Array(2 * words.length);
  /** @type {ReturnType<typeof boundsOf> | undefined} */
  let bounds;

  const play = make("button", { type: "button", textContent: "▶ Play", className: "main" });
  const time = make("input", {
    type: "range",
    min: "0",
    max: String(end),
    step: String(end / 2000),
    oninput: () => {
      clock.stop();
      set({ t: Number(time.value) });
    },
  });
  const dim = make("input", {
    type: "range",
    min: "1",
    max: String(space.dim),
    step: "1",
    oninput: () => set({ d: Number(dim.value) }),
  });
  const now = make("output", { role: "status" });
  /** @type {import("./source.js").FeatureFacts[]} those of the closed form, which has the time */
  let features = app.space === space ? app.features : [];
  const across = menu([], "", (value) => axesChanged({ x: Number(value) }));
  const up = menu([], "", (value) => axesChanged({ y: Number(value) }));
  const followed = wordField("", {
    size: 12,
    onchange: () => {
      state.word = followed.value;
      follow();
      remember();
    },
  });
  const box = make("div", {
    className: "words",
    tabIndex: 0,
    role: "application",
    "aria-label": "Words at the chosen time. Arrow keys move the picture, plus and minus zoom.",
  });
  const tip = wordTip();
  const bottom = make("div", { className: "axis across" });
  const left = make("div", { className: "axis up" });
  const stage = make("div", { className: "stage" }, left, box, tip.element);
  const strengths = chartBox();
  const losses = chartBox();
  const charts = trainingCharts(strengths, losses, space, end);
  const saves = saveButtons({
    name: "time",
    picture: () => map.picture(),
    table: () => [
      ["feature", "eigenvalue", "learned at t/τ₁", `strength at t/τ₁ = ${state.t.toFixed(3)}`],
      ...space.eigenvalues
        .slice(0, state.d)
        .map((value, k) => [k + 1, value, learning[k], weightAt(space, k, state.t)]),
    ],
  });
  const chartSaves = saveButtons({
    name: "training",
    picture: () => pictureOf(charts.drawings(), colour("paper")),
  });
  element.append(
    headed(
      "Time and dimension",
      "Training learns one feature after the other, the strongest first. Move the dials, or press play: words start together and part as features are learned. A model of d dimensions learns the first d features and no more.",
    ),
    make(
      "div",
      { className: "controls dials" },
      play,
      labelled("Time t/τ₁", time, "grow"),
      labelled("Dimension d", dim, "grow"),
      now,
    ),
    make(
      "div",
      { className: "controls" },
      labelled("Across", across),
      labelled("Up", up),
      labelled("Follow a word", followed),
    ),
    make(
      "div",
      { className: "split even" },
      make("div", { className: "large" }, stage, bottom, saves),
      make(
        "div",
        { className: "aside charts" },
        make("h2", { textContent: "Strength of features" }),
        strengths,
        make("h2", { textContent: "Loss" }),
        losses,
        chartSaves,
      ),
    ),
  );
  const map = new WordMap(
    box,
    {
      hover: (row, x, y) => tip.show(row < 0 ? [] : [words[row]], x + box.offsetLeft, y),
      choose: (row) => {
        state.word = words[row];
        followed.value = state.word;
        follow();
        remember();
      },
    },
    mapLook(),
  );
  map.setWords(words);

  /** @param {Partial<typeof state>} values */
  function set(values) {
    Object.assign(state, values);
    move();
    if ("d" in values) drawCharts();
    else charts.mark(state);
    remember();
  }

  /** @param {Partial<typeof state>} values */
  async function axesChanged(values) {
    Object.assign(state, values);
    await load();
    move();
    drawCharts();
    remember();
  }

  /** Fetch the two columns of the axes; where words end determines what is in sight. */
  async function load() {
    const wanted = `${state.x} ${state.y}`;
    if (wanted === shownAxes) return;
    const [xs, ys] = await Promise.all(
      [state.x, state.y].map((k) => app.source.coordinates(app.model.id, k, space.space)),
    );
    columns = [xs, ys];
    shownAxes = wanted;
    fillPlaces(Infinity, space.dim);
    bounds = boundsOf(places);
    bottom.textContent = axisTitle(features, state.x);
    left.textContent = axisTitle(features, state.y);
  }

  /** @param {number} at @param {number} d */
  function fillPlaces(at, d) {
    if (!columns) return;
    const moment = at === Infinity ? undefined : at;
    const wide = state.x <= d ? weightAt(space, state.x - 1, moment) : 0;
    const tall = state.y <= d ? weightAt(space, state.y - 1, moment) : 0;
    const [xs, ys] = columns;
    for (let row = 0; row < words.length; row++) {
      places[2 * row] = xs[row] * wide;
      places[2 * row + 1] = ys[row] * tall;
    }
  }

  function move() {
    fillPlaces(state.t, state.d);
    map.place(places, { bounds, keep: true });
    const learned = learning.slice(0, state.d).filter((one) => one <= state.t).length;
    time.value = String(state.t);
    dim.value = String(state.d);
    const text = `t = ${state.t.toFixed(2)} τ₁`;
    time.setAttribute("aria-valuetext", text);
    dim.setAttribute("aria-valuetext", `${state.d} dimensions`);
    now.textContent = `${text}, d = ${state.d}: ${learned} of ${state.d} features learned`;
    box.dataset.time = state.t.toFixed(4);
  }

  function follow() {
    const row = app.find(state.word);
    const known = row !== undefined && row < words.length;
    followed.setCustomValidity(
      state.word.trim() && !known
        ? `This word is not among the ${words.length.toLocaleString("en")} that move here.`
        : "",
    );
    followed.reportValidity();
    map.setChosen(known ? [row] : []);
  }

  const drawCharts = () => charts.draw(state, trace);

  const clock = player(play, {
    end,
    now: () => state.t,
    show(t) {
      state.t = t;
      move();
      charts.mark(state);
    },
    ended: remember,
  });

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let later;

  function remember() {
    clearTimeout(later);
    later = setTimeout(() => {
      if (element.hidden || clock.isPlaying()) return;
      app.keep({
        t: Number(state.t.toFixed(4)),
        d: state.d,
        x: state.x,
        y: state.y,
        word: state.word,
      });
    }, 150);
  }

  function paint() {
    map.setColours(paintAll(words.length, () => parseRgb(colour("cool")), [0, 0, 0], 130));
  }

  return {
    async show(parameters) {
      state.t = numberIn(parameters.get("t"), state.t, 0, end);
      state.d = Math.round(numberIn(parameters.get("d"), state.d, 1, space.dim));
      if (features.length < Math.min(FEATURES_TO_CHOOSE, space.dim)) {
        ({ features } = await app.source.features(
          app.model.id,
          space.space,
          Math.min(FEATURES_TO_CHOOSE, space.dim),
        ));
      }
      state.x = Math.round(numberIn(parameters.get("x"), state.x, 1, features.length));
      state.y = Math.round(numberIn(parameters.get("y"), state.y, 1, features.length));
      state.word = parameters.get("word") ?? state.word;
      fillMenu(across, featureChoices(features), String(state.x));
      fillMenu(up, featureChoices(features), String(state.y));
      followed.value = state.word;
      if (app.model.trace && !trace) trace = await app.source.trace(app.model.id).catch(() => null);
      const first = !shownAxes;
      await load();
      paint();
      move();
      if (first) map.fit();
      follow();
      drawCharts();
    },
    redraw() {
      paint();
      drawCharts();
    },
    leave: clock.stop,
  };
}
