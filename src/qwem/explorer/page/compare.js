// Two models side by side: features that match, words that moved, neighbours in both.

import { colour, isDark } from "./components/theme.js";
import { foundList } from "./components/words.js";
import { button, chartBox, complaint, labelled, make, menu, tableOf } from "./dom.js";
import { drawHeat } from "./heat.js";
import { scaleOf } from "./palette.js";
import { pictureOf, saveButtons } from "./saving.js";
import { featureTitle, headed, latest } from "./views.js";

/** @typedef {import("./main.js").App} App */

const FEATURES_COMPARED = 30;
const MOVED = 50;
const MATCHED = 20;

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function compareView(element, app) {
  const { source, models } = app;
  const state = { a: 0, b: 1, least: 100, word: "" };
  /** @type {import("./source.js").OverlapAnswer | null} */
  let overlap = null;
  /** @type {import("./source.js").Moved[]} */
  let moved = [];
  const [useOverlaps, useMoved, useBoth] = [latest(), latest(), latest()];
  const names = models.map(({ name }, i) => /** @type {[string, string]} */ ([String(i), name]));
  const first = menu(names, "0", (value) => set({ a: Number(value) }));
  const second = menu(names, String(state.b), (value) => set({ b: Number(value) }));
  const least = menu(
    [
      ["0", "any number of times"],
      ["20", "20 times"],
      ["100", "100 times"],
      ["1000", "1,000 times"],
    ],
    "100",
    (value) => set({ least: Number(value) }),
  );
  const heat = chartBox();
  const matched = make("div", {});
  const words = make("div", { "aria-live": "polite" });
  const both = make("div", { className: "columns", "aria-live": "polite" });
  const title = (/** @type {number} */ i) =>
    models[i]?.name ?? (i === 0 ? "the first model" : "the second model");
  element.append(
    headed(
      "Compare",
      "Two models of different texts, times or settings: which features they share, and which words changed their company.",
    ),
    make(
      "div",
      { className: "controls" },
      models.length > 1 ? labelled("First model", first) : null,
      models.length > 1 ? labelled("Second model", second) : null,
      labelled("Words that occur at least", least),
    ),
    make(
      "div",
      { className: "split even" },
      make(
        "section",
        { "aria-label": "Words that moved" },
        make("h2", { textContent: "Words that moved most" }),
        words,
      ),
      make(
        "div",
        {},
        make(
          "section",
          { "aria-label": "Neighbours in both models" },
          make("h2", { textContent: "Neighbours then and now" }),
          both,
        ),
        make(
          "section",
          { "aria-label": "Overlap of features" },
          make("h2", { textContent: "Features in common" }),
          matched,
          heat,
        ),
      ),
    ),
    saveButtons({
      name: "comparison",
      picture: () => pictureOf([...heat.querySelectorAll("svg")], colour("paper")),
      table: () => [
        ["word", "distance", `count in ${title(state.a)}`, `count in ${title(state.b)}`],
        ...moved.map((one) => [one.word, one.distance, one.count_a, one.count_b]),
      ],
    }),
  );

  /** @param {Partial<typeof state>} values */
  function set(values) {
    Object.assign(state, values);
    app.keep({ a: state.a, b: state.b, least: state.least, word: state.word });
    update();
  }

  function update() {
    first.value = String(state.a);
    second.value = String(state.b);
    least.value = String(state.least);
    const [a, b] = [models[state.a]?.id ?? 0, models[state.b]?.id ?? 1];
    useOverlaps(source.overlaps(a, b, FEATURES_COMPARED), showOverlaps, (error) =>
      matched.replaceChildren(complaint(error)),
    );
    useMoved(source.moved(a, b, MOVED, state.least), showMoved, (error) =>
      words.replaceChildren(complaint(error)),
    );
    if (state.word) showBoth();
  }

  /** @param {import("./source.js").OverlapAnswer} answer */
  function showOverlaps(answer) {
    overlap = answer;
    const alike = answer.matched.filter((value) => value > 0.5).length;
    const shared = answer.subspace_similarity.at(-1) ?? 0;
    matched.replaceChildren(
      make("p", {
        className: "note",
        textContent: `${answer.shared_words.toLocaleString("en")} words are in both models. Of the first ${answer.dim} features, ${alike} have a partner with which they overlap by more than half; all ${answer.dim} together overlap by ${(100 * shared).toFixed(0)}%.`,
      }),
    );
    const partners = answer.matched_rank
      .slice(0, MATCHED)
      .map((rank, k) => [
        featureTitle(app.features, k + 1),
        String(rank),
        `${(100 * answer.matched[k]).toFixed(0)}%`,
      ]);
    if (state.a === models.indexOf(app.model)) {
      matched.append(
        make(
          "details",
          {},
          make("summary", { textContent: "Which feature matches which" }),
          tableOf(
            ["feature of the first model", "of the second", "overlap"],
            partners,
            "Features that match",
          ),
        ),
      );
    }
    drawOverlaps();
    heat.dataset.shown = `${state.a} ${state.b}`;
  }

  function drawOverlaps() {
    if (!overlap) return;
    const scale = scaleOf(isDark(), false);
    const { squared } = overlap;
    const value = (/** @type {number} */ i, /** @type {number} */ j) => squared[i][j];
    drawHeat(heat, {
      label: "Overlap of every feature of the first model with every feature of the second",
      cells: squared,
      across: `features of ${title(state.b)}`,
      down: `features of ${title(state.a)}`,
      fill: (part) => `rgb(${scale.at(Math.sqrt(part)).join(" ")})`,
      name: (i, j) => `feature ${i + 1} and feature ${j + 1}: ${(100 * value(i, j)).toFixed(0)}%`,
    });
  }

  /** @param {{ words: import("./source.js").Moved[] }} answer */
  function showMoved(answer) {
    moved = answer.words;
    const rows = moved.map((one) => [
      button(one.word, () => set({ word: one.word }), { className: "word" }),
      one.distance.toFixed(2),
      one.count_a.toLocaleString("en"),
      one.count_b.toLocaleString("en"),
    ]);
    words.replaceChildren(
      moved.length
        ? tableOf(
            ["word", "distance", "count, first", "count, second"],
            rows,
            "Words that moved most",
          )
        : make("p", {
            className: "note",
            textContent: "No word occurs that often in both models.",
          }),
    );
    words.dataset.shown = String(state.least);
    if (!state.word && moved.length) set({ word: moved[0].word });
  }

  function showBoth() {
    const [a, b] = [models[state.a]?.id ?? 0, models[state.b]?.id ?? 1];
    return useBoth(
      source.thenAndNow(a, b, state.word),
      (answer) => {
        const column = (
          /** @type {string} */ name,
          /** @type {import("./source.js").Found[]} */ found,
        ) =>
          make(
            "section",
            { "aria-label": name },
            make("h3", { textContent: `${state.word} in ${name}` }),
            foundList(found.map(({ word, cosine }) => [word, cosine])),
          );
        both.replaceChildren(column(title(state.a), answer.a), column(title(state.b), answer.b));
        both.dataset.shown = state.word;
      },
      (error) => both.replaceChildren(complaint(error)),
    );
  }

  return {
    show(parameters) {
      const last = models.length - 1;
      const number = (/** @type {string} */ name, /** @type {number} */ otherwise) =>
        Math.min(
          Math.max(0, Number(parameters.get(name) ?? otherwise) || 0),
          Math.max(last, otherwise),
        );
      state.a = number("a", state.a);
      state.b = number("b", state.b);
      state.least = Number(parameters.get("least") ?? state.least) || 0;
      state.word = parameters.get("word") ?? state.word;
      update();
    },
    redraw: drawOverlaps,
  };
}
