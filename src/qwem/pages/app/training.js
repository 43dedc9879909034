// Training replayed: words move through two features as the closed form says, at any time and dimension.

import { drawChart, drawMarks, strengthLines, strengthMarks } from "./charts.js";
import { lossAt } from "./data.js";
import { chartBox, intro, labelled, make, menu, note, numberIn, range, wordField } from "./dom.js";
import { axisTitle, featureChoices, featureTitle } from "./features.js";
import { boundsOf } from "./layers.js";
import { mapBox, mapLook } from "./map.js";
import { drawingsIn, saveButtons } from "./saving.js";
import { colour, paintAll, parseRgb } from "./theme.js";
import { lastTime } from "./word.js";
import { WordMap } from "./wordmap.js";

const CURVES = 16; // features whose growth is drawn
const RUN_SECONDS = 16; // how long the whole run plays
const MOVING = 20_000; // words that move
const GRID = 160;

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
  const end = lastTime(space);
  const learning = space.run.learning_times.slice(0, space.dim);
  const state = { t: end, d: space.dim, x: 1, y: Math.min(2, space.dim), word: "" };
  const places = new Float32Array(2 * words.length);
  let columns = null;
  let loaded = "";
  let bounds;

  const play = make("button.main", { type: "button" }, "▶ Play");
  const time = range(end, "any", () => {
    clock.stop();
    set({ t: Number(time.value) });
  });
  const now = make("output", { role: "status" });
  const choices = featureChoices(model, space.dim);
  const across = menu(choices, "1", (value) => show({ x: Number(value) }));
  const up = menu(choices, String(state.y), (value) => show({ y: Number(value) }));
  const followed = wordField("", {
    size: 12,
    onchange: () => {
      state.word = followed.value;
      follow();
      changed(state);
    },
  });
  const { box, tip, hover } = mapBox(
    "Words at the chosen time. Arrow keys move the picture, plus and minus zoom.",
  );
  const bottom = make("div.axis.across");
  const left = make("div.axis.up");
  const element = make(
    "div.replay",
    make("div.controls", play, labelled("Time t/τ₁", time, "grow"), now),
    make("div.controls", labelled("Across", across), labelled("Up", up), labelled("Follow a word", followed)),
    make("div.stage", left, box, tip),
    bottom,
  );
  const map = new WordMap(
    box,
    {
      hover: (row, x, y) => hover(row < 0 ? [] : [words[row]], x + box.offsetLeft, y),
      choose: (row) => {
        state.word = followed.value = words[row];
        follow();
        changed(state);
      },
    },
    mapLook(),
  );
  map.setWords(words);

  function set(values) {
    Object.assign(state, values);
    move();
    changed(state);
  }

  // Take over a state, and load the two columns of its features. Where words end is in sight.
  async function show(values = {}) {
    Object.assign(state, values);
    const wanted = `${state.x} ${state.y}`;
    if (wanted !== loaded) {
      const rows = await space.rows();
      columns = [state.x, state.y].map((k) => rows.column(k - 1));
      loaded = wanted;
      fill(undefined, space.dim);
      bounds = boundsOf(places);
      bottom.textContent = axisTitle(model, state.x);
      left.textContent = axisTitle(model, state.y);
      map.fit();
    }
    [across.value, up.value, followed.value] = [String(state.x), String(state.y), state.word];
    follow();
    paint();
    move();
    changed(state);
  }

  function fill(t, d) {
    const [wide, tall] = [state.x, state.y].map((k) => (k <= d ? space.weight(k - 1, t) : 0));
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

  const clock = player(play, {
    end,
    now: () => state.t,
    show: (t) => set({ t }),
    ended: () => changed(state),
  });
  return { element, map, state, space, end, learning, show, set, paint, clock };
}

export function trainingView(element, app) {
  const { model } = app;
  let trace = null;
  const strengths = chartBox();
  const losses = chartBox();
  let charts = [];
  let drawn = "";
  const run = replay(app, changed);
  const { space, state, end, learning } = run;
  const curves = Math.min(CURVES, space.dim);
  const strength = (k, t) => space.weight(k, t);
  const modes = { eigenvalues: space.eigenvalues, start: space.run.start, rates: space.run.rates };
  const dim = make("input", {
    type: "range",
    min: "1",
    max: String(space.dim),
    step: "1",
    oninput: () => run.set({ d: Number(dim.value) }),
  });
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
        note("Lines are the closed form; dots are a trained run, if one was given with --trace."),
      ),
    ),
    saveButtons({
      name: "training",
      drawing: () => drawingsIn(strengths, losses),
      table: () => [
        ["feature", "eigenvalue", "learned at t/τ₁", `strength at t/τ₁ = ${state.t.toFixed(3)}`],
        ...learning
          .slice(0, state.d)
          .map((when, k) => [k + 1, space.eigenvalues[k], when, strength(k, state.t)]),
      ],
    }),
  );

  function changed() {
    if (!charts.length && !drawn) return;
    if (drawn !== `${state.d} ${state.x} ${state.y}`) draw();
    else mark();
    dim.value = String(state.d);
    dimension.textContent = `d = ${state.d}`;
    remember();
  }

  function draw() {
    drawn = `${state.d} ${state.x} ${state.y}`;
    const across = { title: "training time, t/τ₁", low: 0, high: end };
    const count = Math.min(curves, state.d);
    const chosen = (k) => (k + 1 === state.x ? "cool" : k + 1 === state.y ? "warm" : null);
    const lines = strengthLines(count, end, strength, chosen, (k) => featureTitle(model, k + 1));
    const dots = (y) => ({ kind: "dots", x: trace.times, y, colour: "ink", size: 1.8 });
    if (trace?.times) {
      const traced = Math.min(count, trace.singular_values[0]?.length ?? 0);
      for (let k = 0; k < traced; k++) lines.push(dots(trace.singular_values.map((row) => row[k])));
    }
    const top = 1.06 * Math.sqrt(Math.max(...space.eigenvalues.slice(0, curves).map(Math.abs)));
    const grid = Array.from({ length: GRID + 1 }, (_, i) => (end * i) / GRID);
    const loss = (t, d) => lossAt(modes, t * space.run.unit, d);
    const values = grid.map((t) => loss(t, state.d));
    const fall = [{ kind: "line", x: grid, y: values, colour: "cool", width: 2.5, name: "closed form" }];
    if (trace?.times) fall.push(dots(trace.losses));
    const low = 1.05 * Math.min(...values, loss(end, space.dim));
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
    drawMarks(charts[0], strengthMarks(Math.min(curves, state.d), state.t, strength));
    drawMarks(charts[1], [{ kind: "rule", x: state.t, colour: "muted" }]);
  }

  let later;
  function remember() {
    clearTimeout(later);
    later = setTimeout(() => {
      if (element.hidden || run.clock.isPlaying()) return;
      app.keep({ t: Number(state.t.toFixed(4)), d: state.d, x: state.x, y: state.y, word: state.word });
    }, 150);
  }

  return {
    async show(parameters) {
      if (model.has("trace") && !trace) trace = await model.json("trace").catch(() => null);
      const rank = (name) =>
        Math.round(
          numberIn(parameters.get(name), state[name], 1, Math.min(space.dim, model.features.length)),
        );
      drawn ||= "soon";
      await run.show({
        t: numberIn(parameters.get("t"), state.t, 0, end),
        d: Math.round(numberIn(parameters.get("d"), state.d, 1, space.dim)),
        x: rank("x"),
        y: rank("y"),
        word: parameters.get("word") ?? state.word,
      });
    },
    redraw() {
      run.paint();
      draw();
    },
    leave: run.clock.stop,
  };
}
