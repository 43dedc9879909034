// One word: its neighbours at any dimension and time, the words it occurs with, its features, and why
// it is similar to another.

import { numberIn } from "./address.js";
import { drawBars } from "./bars.js";
import { colour } from "./components/theme.js";
import { barElement, wordElement } from "./components/words.js";
import { chartBox, complaint, labelled, make, wordField } from "./dom.js";
import { pictureOf, saveButtons } from "./saving.js";
import { featureTitle, headed, latest, oneAtATime } from "./views.js";

/** @typedef {import("./main.js").App} App */

const SHOWN = 12;

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function wordView(element, app) {
  const { space, source } = app;
  const learning = (space.learning_times ?? []).filter(Number.isFinite);
  const end = space.time ? 1.15 * Math.max(...learning) : 0;
  const state = { word: startingWord(app), other: "", d: space.dim, t: end };
  /** @type {{ neighbours: import("./source.js").Neighbour[], facts: import("./source.js").WordFacts | null, why: import("./source.js").Why | null, collocates: import("./source.js").Collocate[] }} */
  const found = { neighbours: [], facts: null, why: null, collocates: [] };

  const field = wordField(state.word, { name: "word", "aria-label": "Word" });
  const form = make(
    "form",
    {
      className: "controls",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        set({ word: field.value, other: "" });
      },
    },
    labelled("Word", field),
    make("button", { type: "submit", className: "main", textContent: "Show" }),
  );
  const dim = make("input", {
    type: "range",
    min: "1",
    max: String(space.dim),
    oninput: () => set({ d: Number(dim.value) }),
  });
  const time = make("input", {
    type: "range",
    min: "0",
    max: String(end),
    step: String(end / 500 || 1),
    oninput: () => set({ t: Number(time.value) }),
  });
  const now = make("output", { role: "status" });
  const dials = make(
    "div",
    { className: "controls dials" },
    labelled("Dimension d", dim, "grow"),
    space.time ? labelled("Time t/τ₁", time, "grow") : null,
    now,
  );
  const heading = make("h2", { className: "theword" });
  const facts = make("p", { className: "note" });
  const neighbours = make("div", { "aria-live": "polite", id: "word-neighbours" });
  const collocates = make("div", { "aria-live": "polite", id: "word-collocates" });
  const coordinates = chartBox();
  const otherField = wordField("", { name: "other", "aria-label": "Another word" });
  const otherForm = make(
    "form",
    {
      className: "controls",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        set({ other: otherField.value });
      },
    },
    labelled("Why is it similar to", otherField),
    make("button", { type: "submit", className: "main", textContent: "Explain" }),
  );
  const why = make("p", { className: "answer", role: "status" });
  const parts = chartBox();
  const saves = saveButtons({
    name: "word",
    picture: () =>
      pictureOf(
        [...coordinates.querySelectorAll("svg"), ...parts.querySelectorAll("svg")],
        colour("paper"),
      ),
    table: () => [
      ["word", state.word, `d = ${state.d}`],
      ["neighbour", "cosine", "lowest", "highest"],
      ...found.neighbours.map((one) => [one.word, one.cosine, one.low, one.high]),
      ["occurs with", "count", "times more often than by chance"],
      ...found.collocates.map((one) => [one.word, one.count, one.ratio]),
      ["feature", "coordinate", "share"],
      ...(found.facts?.features ?? []).map((one) => [one.rank, one.coordinate, one.share]),
    ],
  });
  element.append(
    headed(
      "Word",
      "Neighbours are words that are used alike: they occur near the same other words. The words that it occurs with are another matter; see both side by side.",
    ),
    form,
    dials,
    make("div", { className: "titleline" }, heading, facts),
    make(
      "div",
      { className: "columns" },
      make(
        "section",
        { "aria-label": "Neighbours" },
        make("h3", { textContent: "Used like" }),
        neighbours,
      ),
      make(
        "section",
        { "aria-label": "Collocates" },
        make("h3", { textContent: "Occurs with" }),
        collocates,
      ),
      make(
        "section",
        { "aria-label": "Features" },
        make("h3", { textContent: "Its strongest features" }),
        coordinates,
      ),
    ),
    make(
      "section",
      { "aria-label": "Why two words are similar" },
      make("h3", { textContent: "Why are two words similar?" }),
      otherForm,
      why,
      parts,
    ),
    saves,
  );

  const useNeighbours = latest();
  const useFacts = latest();
  const useCollocates = latest();
  const useWhy = latest();

  /** @param {Partial<typeof state>} values */
  function set(values) {
    Object.assign(state, values);
    if (app.find(state.word) !== undefined)
      state.word = app.words[/** @type {number} */ (app.find(state.word))];
    update("word" in values);
    app.keep({
      word: state.word,
      with: state.other,
      d: state.d === space.dim ? undefined : state.d,
      t: atEnd() ? undefined : Number(state.t.toFixed(4)),
    });
  }

  const atEnd = () => !space.time || state.t >= end * 0.9999;
  const asked = () => ({
    space: space.space,
    d: state.d === space.dim ? undefined : state.d,
    t: atEnd() ? undefined : state.t,
  });
  const fail = (/** @type {Element} */ place) => (/** @type {unknown} */ error) =>
    place.replaceChildren(complaint(error));

  /** @param {boolean} other whether the word is another one */
  function update(other) {
    field.value = state.word;
    otherField.value = state.other;
    dim.value = String(state.d);
    time.value = String(state.t);
    const moment = atEnd() ? "at the end of training" : `at t = ${state.t.toFixed(2)} τ₁`;
    now.textContent = space.time ? `${state.d} dimensions, ${moment}` : `${state.d} dimensions`;
    time.setAttribute("aria-valuetext", moment);
    askVectors();
    if (other) {
      if (app.model.collocates)
        useCollocates(
          source.collocates(app.model.id, state.word, SHOWN),
          showCollocates,
          fail(collocates),
        );
      else
        collocates.replaceChildren(
          make("p", {
            className: "note",
            textContent:
              "This model doesn’t keep the counts of word pairs. Start the explorer with its counts (--counts) to see them.",
          }),
        );
    }
    if (!state.other.trim()) {
      found.why = null;
      why.textContent = "Type a second word, or press “why?” beside a neighbour.";
      parts.replaceChildren();
    }
  }

  /** What depends on the dials, which move faster than answers come. */
  const askVectors = oneAtATime(() => {
    const { word, other } = state;
    const m = app.model.id;
    const shown = JSON.stringify([word, state.d, atEnd() ? null : state.t]);
    const answers = [
      useNeighbours(
        source.neighbours(m, word, { ...asked(), n: SHOWN }),
        (answer) => showNeighbours(answer, shown),
        fail(neighbours),
      ),
      useFacts(source.word(m, word, asked()), showFacts, (error) => {
        heading.textContent = "";
        facts.textContent = "";
        fail(coordinates)(error);
      }),
    ];
    if (other.trim()) {
      answers.push(
        useWhy(
          source.why(m, word, other, asked()),
          (answer) => state.other && showWhy(answer),
          (error) => {
            parts.replaceChildren();
            why.replaceChildren(complaint(error));
          },
        ),
      );
    }
    return Promise.all(answers);
  });

  /**
   * @param {{ neighbours: import("./source.js").Neighbour[], replicates: number }} answer
   * @param {string} shown the word and the dials that were asked for
   */
  function showNeighbours(answer, shown) {
    found.neighbours = answer.neighbours;
    const list = make("ol", { className: "found with" });
    for (const one of answer.neighbours) {
      const range =
        one.low !== undefined && one.high !== undefined
          ? ` (${one.low.toFixed(2)} to ${one.high.toFixed(2)})`
          : "";
      list.append(
        make(
          "li",
          {},
          wordElement(one.word, (word) => set({ word, other: "" })),
          barElement(one.cosine, `${one.cosine.toFixed(2)}${range}`),
          make("button", {
            type: "button",
            className: "quiet",
            textContent: "why?",
            "aria-label": `Why is ${one.word} similar?`,
            onclick: () => set({ other: one.word }),
          }),
        ),
      );
    }
    const sure =
      answer.replicates && answer.neighbours.some(({ low }) => low !== undefined)
        ? make("p", {
            className: "note",
            textContent: `In brackets: where the number lies in 95% of ${answer.replicates} replicates of the text.`,
          })
        : "";
    neighbours.replaceChildren(list, sure);
    neighbours.dataset.shown = shown;
  }

  /** @param {{ collocates: import("./source.js").Collocate[] }} answer */
  function showCollocates(answer) {
    found.collocates = answer.collocates;
    const most = Math.max(1, ...answer.collocates.map(({ count }) => count));
    const list = make("ol", { className: "found" });
    for (const one of answer.collocates) {
      const follow =
        app.find(one.word) === undefined
          ? undefined
          : (/** @type {string} */ word) => set({ word, other: "" });
      list.append(
        make(
          "li",
          {
            title: `${one.count.toLocaleString("en")} counted, ${one.ratio.toFixed(1)} times as many as by chance`,
          },
          wordElement(one.word, follow),
          barElement(one.count / most, `${one.ratio.toFixed(1)}×`),
        ),
      );
    }
    collocates.replaceChildren(
      list,
      make("p", {
        className: "note",
        textContent:
          "How many times more often than by chance; long bars are pairs that were counted often.",
      }),
    );
  }

  /** @param {import("./source.js").WordFacts} answer */
  function showFacts(answer) {
    found.facts = answer;
    heading.textContent = answer.word;
    const often = answer.count ? `occurs ${answer.count.toLocaleString("en")} times, ` : "";
    facts.textContent = `${often}word ${answer.rank.toLocaleString("en")} of ${app.words.length.toLocaleString("en")} by frequency`;
    const top = [...answer.features].sort((a, b) => b.share - a.share).slice(0, SHOWN);
    drawBars(coordinates, {
      label: `Features that make up ${answer.word}`,
      rows: top.map(({ rank, coordinate, share }) => ({
        name: featureTitle(app.features, rank),
        value: coordinate,
        shown: `${(100 * share).toFixed(1)}%`,
      })),
    });
  }

  /** @param {import("./source.js").Why} answer */
  function showWhy(answer) {
    found.why = answer;
    const top = [...answer.features]
      .sort((a, b) => Math.abs(b.cosine) - Math.abs(a.cosine))
      .slice(0, SHOWN);
    const told = top.reduce((sum, { cosine }) => sum + cosine, 0);
    const rest =
      answer.features.length > top.length
        ? `; these ${top.length} contribute ${signed(told)}, the others ${signed(answer.cosine - told)}`
        : "";
    why.replaceChildren(
      `The cosine of “${answer.a}” and “${answer.b}” is ${signed(answer.cosine)}. It is a sum over ` +
        `features${rest}. Features that pull the two apart are orange.`,
    );
    drawBars(parts, {
      label: `Contributions of features to the cosine of ${answer.a} and ${answer.b}`,
      rows: top.map(({ rank, cosine }) => ({
        name: featureTitle(app.features, rank),
        value: cosine,
        shown: `${cosine < 0 ? "−" : "+"}${Math.abs(cosine).toFixed(3)}`,
      })),
    });
  }

  return {
    show(parameters) {
      state.word = parameters.get("word") ?? state.word;
      state.other = parameters.get("with") ?? "";
      state.d = Math.round(numberIn(parameters.get("d"), space.dim, 1, space.dim));
      state.t = numberIn(parameters.get("t"), end, 0, end);
      update(true);
    },
    redraw,
    refresh: redraw,
  };

  /** Draw the bars again, in other colours or with the words of more features. */
  function redraw() {
    if (found.facts) showFacts(found.facts);
    if (found.why) showWhy(found.why);
  }
}

/**
 * A number with three digits and a proper minus, without a minus zero.
 * @param {number} value
 */
function signed(value) {
  return (Math.round(1000 * value) / 1000 + 0).toFixed(3).replace("-", "−");
}

/**
 * A word that most people know, or one of middle frequency.
 * @param {App} app
 */
export function startingWord(app) {
  return (
    ["king", "music", "water", "good"].find((word) => app.find(word) !== undefined) ??
    app.words[Math.floor(app.words.length / 3)]
  );
}
