// Two models side by side: what they are, words that differ most, neighbours in both, features shared.

import { drawChart, heatChart } from "./charts.js";
import { json, largest, matrix } from "./data.js";
import {
  addressState,
  filler,
  formatCount,
  foundList,
  intro,
  labelled,
  make,
  menu,
  note,
  percent,
  section,
  table,
  wordButton,
} from "./dom.js";
import { featureTitle } from "./features.js";
import { drawingsIn, saveButtons } from "./saving.js";
import { scaleOf } from "./theme.js";

const MOVED = 50;
const MATCHED = 20;
const LEAST = [
  ["0", "any number of times"],
  ["20", "20 times"],
  ["100", "100 times"],
  ["1000", "1,000 times"],
];

// The words, apart from function words, that lie farthest apart in two models, among those that occur
// at least so many times in both: each with its distance and counts.
export function wordsThatDiffer(one, other, distances, least, most) {
  const often = distances.map((value, row) => {
    const match = other.index.get(one.words[row]);
    const enough = match !== undefined && one.counts[row] >= least && other.counts[match] >= least;
    return enough && one.topicOf(row) ? value : NaN;
  });
  return largest(often, most).map(([row, distance]) => {
    const word = one.words[row];
    return [word, distance, one.counts[row], other.counts[other.index.get(word)]];
  });
}

export function compareView(element, app) {
  const { page } = app;
  const { state, read, keep } = addressState(
    app,
    { b: 1, least: 100, word: "" },
    { b: [1, page.models.length - 1, true] },
  );
  let [one, other, overlap, moved] = [null, null, null, []];
  const others = page.models.slice(1).map(({ name }, i) => [String(i + 1), name]);
  const second = menu(others, "1", (value) => set({ b: Number(value), word: "" }));
  const least = menu(LEAST, "100", (value) => set({ least: Number(value) }));
  const [heat, matched, list, both, what] = [
    make("div.chart"),
    make("div"),
    make("div", { "aria-live": "polite" }),
    make("div.columns", { "aria-live": "polite" }),
    make("div.columns"),
  ];
  const [fillList, fillBoth] = [filler(list), filler(both)];
  element.append(
    intro(
      "Compare",
      "Two models of different texts, times or settings: which words are used differently, and which features the two share.",
    ),
    what,
    make(
      "div.controls",
      others.length > 1 ? labelled("Compare with", second) : null,
      labelled("Words that occur in both at least", least),
    ),
    make(
      "div.split.even",
      section("h2", "Words that differ most", list),
      make(
        "div",
        section("h2", "Neighbours in both", both),
        section("h2", "Features in common", matched, heat),
      ),
    ),
    saveButtons({ name: "comparison", drawing: () => drawingsIn(heat), table: () => [head(), ...moved] }),
  );

  function set(values) {
    Object.assign(state, values);
    keep();
    return update();
  }

  function update() {
    [second.value, least.value] = [String(state.b), String(state.least)];
    const name = `0-${state.b}`;
    return fillList(
      Promise.all([app.load(0), app.load(state.b), json(`compare/${name}`), matrix(`distances/${name}`)]),
      ([a, b, overlaps, distances]) => {
        [one, other, overlap] = [a, b, overlaps];
        showModels();
        const listed = movedList(distances.column(0));
        showOverlaps();
        heat.dataset.shown = name;
        showBoth();
        return listed;
      },
      moved.length ? "" : "Comparing…",
    );
  }

  function showModels() {
    const facts = (model) =>
      make(
        "section",
        make("h3.name", model.name),
        make("p", model.facts.map(([number, label]) => `${number} ${label}`).join(", ") + "."),
        note(model.about),
      );
    what.replaceChildren(facts(one), facts(other));
  }

  const head = () => ["word", "distance", `count in ${one?.name}`, `count in ${other?.name}`];

  function movedList(distances) {
    moved = wordsThatDiffer(one, other, distances, state.least, MOVED);
    const rows = moved.map(([word, distance, a, b]) => [
      wordButton(word, () => set({ word })),
      distance.toFixed(2),
      formatCount(a),
      formatCount(b),
    ]);
    list.dataset.shown = String(state.least);
    if (!state.word && moved.length) state.word = moved[0][0];
    return [
      note("The distance is 1 − cosine, after the best rotation. Function words are left out."),
      moved.length
        ? table(head(), rows, "Words that differ most")
        : note("No word occurs that often in both models."),
    ];
  }

  function showBoth() {
    if (!state.word)
      return fillBoth(null, () => [note("Press a word in the list to see its neighbours in both.")]);
    const near = (model) => {
      const row = model.find(state.word);
      return row === undefined ? [] : model.spaces[0].neighbours(row, 10);
    };
    const column = (model, found) =>
      make(
        "section",
        { "aria-label": model.name },
        make("h3.name", `${state.word} in ${model.name}`),
        found.length ? foundList(found) : note("This model does not have the word."),
      );
    return fillBoth(Promise.all([near(one), near(other)]), ([a, b]) => {
      both.dataset.shown = state.word;
      return [column(one, a), column(other, b)];
    });
  }

  function showOverlaps() {
    const alike = overlap.matched.filter((value) => value > 0.5).length;
    const shared = overlap.subspace_similarity.at(-1) ?? 0;
    const partners = overlap.matched_rank
      .slice(0, MATCHED)
      .map((rank, k) => [featureTitle(one, k + 1), featureTitle(other, rank), percent(overlap.matched[k])]);
    matched.replaceChildren(
      note(
        `${formatCount(overlap.shared_words)} words are in both models. Of the first ${overlap.dim} features, ${alike} match a feature of the other model with an overlap of more than half; all ${overlap.dim} together overlap by ${percent(shared)}.`,
      ),
      make(
        "details",
        make("summary", "Which feature matches which"),
        table([one.name, other.name, "overlap"], partners, "Features that match"),
      ),
    );
    drawOverlaps();
  }

  function drawOverlaps() {
    if (!overlap) return;
    const scale = scaleOf();
    const { squared } = overlap;
    const square = {
      label: "Overlap of every feature of the first model with every feature of the second",
      cells: squared,
      across: `features of ${other.name}`,
      down: `features of ${one.name}`,
      fill: (part) => `rgb(${scale.at(Math.sqrt(part)).join(" ")})`,
      name: (i, j) =>
        `${featureTitle(one, i + 1)} and ${featureTitle(other, j + 1)}: ${percent(squared[i][j])}`,
    };
    drawChart(heat, heatChart(square, Math.min(620, heat.clientWidth || 500)));
  }

  return {
    show(parameters) {
      read(parameters);
      return update();
    },
    redraw: drawOverlaps,
  };
}
