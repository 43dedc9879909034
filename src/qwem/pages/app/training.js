// Training replayed: words move through two features as the closed form says, at any time and dimension.

import { drawChart, drawMarks } from "./charts.js";
import { addressState, intro, labelled, make, menu, note, range, wordField } from "./dom.js";
import { axisTitle, featureChoices, featureTitle } from "./features.js";
import { boundsOf } from "./layers.js";
import { drawingsIn, saveButtons } from "./saving.js";
import { colour, paintAll, parseRgb } from "./theme.js";
import { mapStage } from "./wordmap.js";

const CURVES = 16; // features whose growth is drawn
const RUN_SECONDS = 16; // how long the whole run plays
const MOVING = 20_000; // words that move
const GRID = 160; // moments at which curves are computed

// Make a button play and pause a run from 0 to `end`. It keeps the time itself, because a slider
// rounds it; from the end it begins anew.
function player(button, { end, now, show, ended }) {
  let playing = null; // the last frame

  function stop() {
    playing = null;
    button.textContent = "▶ Play";
  }

  function frame(stamp) {
    if (!playing) return;
    const passed = Math.max(0, stamp - playing.stamp) / 1000;
    const time = Math.min(end, playing.time + (passed / RUN_SECONDS) * end);
    playing = { stamp, time };
    show(time);
    if (time < end) requestAnimationFrame(frame);
    else {
      stop();
      ended?.();
    }
  }

  button.addEventListener("click", () => {
    if (playing) return stop();
    playing = { stamp: performance.now(), time: now() >= 0.999 * end ? 0 : now() };
    button.textContent = "❚❚ Pause";
    requestAnimationFrame(frame);
  });
  return { stop, isPlaying: () => playing !== null };
}

// The replay: a stage on which words move, with its controls. The overview and the training view
// have one each. `changed` is called when the state has changed.
export function replay(app, changed = () => {}) {
  const { model } = app;
  const space = model.spaces.find(({ run }) => run);
  const words = app.words.slice(0, MOVING);
  const { end } = space;
  const learning = space.run.learning_times;
  const ranks = [1, Math.min(space.columns, model.features.length), true];
  const { state, read, keepSoon } = addressState(
    app,
    { t: end, d: space.dim, x: 1, y: Math.min(2, space.dim), word: "" },
    { t: [0, end], d: [1, space.dim, true], x: ranks, y: ranks },
  );
  const places = new Float32Array(2 * words.length);
  let columns = null;
  let loaded = "";
  let bounds;

  const play = make("button.main", { type: "button" }, "▶ Play");
  const time = range(0, end, "any", (t) => {
    clock.stop();
    set({ t });
  });
  const now = make("output", { role: "status" });
  const choices = featureChoices(model, space.columns);
  const across = menu(choices, "1", (value) => show({ x: Number(value) }));
  const up = menu(choices, String(state.y), (value) => show({ y: Number(value) }));
  const choose = (word) => {
    state.word = word;
    follow();
    changed();
  };
  const followed = wordField("", { size: 12, onchange: () => choose(followed.value) });
  const stage = mapStage({
    label: "Words at the chosen time.",
    model,
    words,
    choose: (row) => choose(words[row]),
  });
  const { map, box } = stage;
  const element = make(
    "div.replay",
    make("div.controls", play, labelled("Time t/τ₁", time, "grow"), now),
    make("div.controls", labelled("Across", across), labelled("Up", up), labelled("Follow a word", followed)),
    stage.element,
  );

  function set(values) {
    Object.assign(state, values);
    move();
    changed();
  }

  // Take over a state, and load the two columns of its features. Where words end is in sight.
  async function show(values = {}) {
    Object.assign(state, values);
    [across.value, up.value] = [String(state.x), String(state.y)];
    const wanted = `${state.x} ${state.y}`;
    if (wanted !== loaded) {
      const found = await stage.load(Promise.all([state.x, state.y].map((k) => space.column(k - 1))));
      if (!found) return null;
      columns = found;
      loaded = wanted;
      fill(undefined, space.dim);
      bounds = boundsOf(places);
      stage.setTitles([state.x, state.y].map((k) => axisTitle(model, k)));
      map.place(places, { bounds });
    }
    follow();
    paint();
    move();
    return changed();
  }

  function fill(t, d) {
    const [wide, tall] = [state.x, state.y].map((k) =>
      k <= d ? space.weight(k - 1, t) / space.weights[k - 1] : 0,
    );
    for (let row = 0; row < words.length; row++) {
      places[2 * row] = columns[0][row] * wide;
      places[2 * row + 1] = columns[1][row] * tall;
    }
  }

  function move() {
    if (!columns) return;
    fill(state.t, state.d);
    map.place(places, { bounds, keep: true });
    const learned = learning.slice(0, state.d).filter((one) => one <= state.t).length;
    time.value = String(state.t);
    const shown = `t = ${state.t.toFixed(2)} τ₁`;
    time.setAttribute("aria-valuetext", shown);
    now.textContent = `${shown}: ${learned} of ${state.d} features learned`;
    box.dataset.time = state.t.toFixed(4);
  }

  function follow() {
    followed.value = state.word;
    const row = model.find(state.word);
    const known = row !== undefined && row < words.length;
    followed.setCustomValidity(
      state.word.trim() && !known ? "This word is not among the words shown here." : "",
    );
    followed.reportValidity();
    map.setChosen(known ? [row] : []);
  }

  function paint() {
    map.setColours(paintAll(words.length, () => parseRgb(colour("cool")), 130));
  }

  const clock = player(play, { end, now: () => state.t, show: (t) => set({ t }), ended: () => changed() });
  const leave = () => {
    clock.stop();
    stage.leave();
  };
  return { element, state, read, keepSoon, space, end, learning, show, set, paint, clock, leave };
}

export function trainingView(element, app) {
  const { model } = app;
  let trace = null;
  const strengths = make("div.chart");
  const losses = make("div.chart");
  let charts = [];
  let drawn = "";
  const run = replay(app, changed);
  const { space, state, end, learning } = run;
  const curves = Math.min(CURVES, space.dim);
  const dim = range(1, space.dim, 1, (d) => run.set({ d }));
  const dimension = make("output", { role: "status" });
  run.element.children[1].append(labelled("Dimension d", dim), dimension);
  element.append(
    intro(
      "Training, replayed",
      `Training learns one feature after the other, the strongest first. Press play, or move the sliders: words start together and move apart as features are learned. A formula gives this run; no network was trained. Time is measured in units of τ₁, when the first feature is learned. A model of d dimensions learns the first d features and no more. ${model.training_note}`,
    ),
    make(
      "div.split.even",
      run.element,
      make(
        "div.aside.charts",
        make("h2", "Strength of features"),
        strengths,
        make("h2", "Loss"),
        losses,
        model.has("trace") ? note("Lines are the closed form; dots are the trained run.") : null,
      ),
    ),
    saveButtons({
      name: "training",
      drawing: () => drawingsIn(strengths, losses),
      table: () => [
        ["feature", "eigenvalue", "learned at t/τ₁", `strength at t/τ₁ = ${state.t.toFixed(3)}`],
        ...learning
          .slice(0, state.d)
          .map((when, k) => [k + 1, space.eigenvalues[k], when, space.weight(k, state.t)]),
      ],
    }),
  );

  function changed() {
    if (!charts.length && !drawn) return;
    if (drawn !== `${state.d} ${state.x} ${state.y}`) draw();
    else mark();
    dim.value = String(state.d);
    dimension.textContent = `d = ${state.d}`;
    run.keepSoon(() => !element.hidden && !run.clock.isPlaying());
  }

  function draw() {
    drawn = `${state.d} ${state.x} ${state.y}`;
    const across = { title: "training time, t/τ₁", low: 0, high: end };
    const count = Math.min(curves, state.d);
    const grid = Array.from({ length: GRID + 1 }, (_, i) => (end * i) / GRID);
    const chosen = (k) => (k + 1 === state.x ? "cool" : k + 1 === state.y ? "warm" : null);
    const line = (_, k) => ({
      kind: "line",
      x: grid,
      y: grid.map((t) => space.weight(k, t)),
      colour: chosen(k) ?? "faint",
      width: chosen(k) ? 3 : 1.3,
      name: featureTitle(model, k + 1),
    });
    const lines = Array.from({ length: count }, line).reverse(); // the strongest on top
    const dots = (y) => ({ kind: "dots", x: trace.times, y, colour: "ink", size: 1.8 });
    if (trace?.times) {
      const traced = Math.min(count, trace.singular_values[0]?.length ?? 0);
      for (let k = 0; k < traced; k++) lines.push(dots(trace.singular_values.map((row) => row[k])));
    }
    const top = 1.06 * Math.sqrt(Math.max(...space.eigenvalues.slice(0, curves).map(Math.abs)));
    const values = grid.map((t) => space.loss(t, state.d));
    const fall = [{ kind: "line", x: grid, y: values, colour: "cool", width: 2.5, name: "closed form" }];
    if (trace?.times) fall.push(dots(trace.losses));
    const low = 1.05 * Math.min(...values, space.loss(end, space.dim));
    charts = [
      drawChart(strengths, {
        label: `Strength of the first ${count} features over training time`,
        height: 260,
        x: across,
        y: { title: "strength s", low: 0, high: top },
        layers: lines,
      }),
      drawChart(losses, {
        label: "Loss over training time",
        height: 200,
        x: across,
        y: { title: "loss, from its start", low, high: 0 },
        layers: fall,
      }),
    ];
    mark();
  }

  function mark() {
    const { t } = state;
    const rule = { kind: "rule", x: t, colour: "muted" };
    const reached = Array.from({ length: Math.min(curves, state.d) }, (_, k) => space.weight(k, t));
    const dots = { kind: "dots", x: reached.map(() => t), y: reached, colour: "ink", size: 2.5 };
    drawMarks(charts[0], [rule, dots]);
    drawMarks(charts[1], [rule]);
  }

  return {
    async show(parameters) {
      if (model.has("trace") && !trace) trace = await model.json("trace").catch(() => null);
      drawn ||= "soon";
      run.read(parameters);
      await run.show();
    },
    redraw() {
      run.paint();
      draw();
    },
    leave: run.leave,
  };
}
