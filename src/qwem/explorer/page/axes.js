// Axes of one's own: from some words to others, and all words along the way.

import { drawBars } from "./bars.js";
import { colour } from "./components/theme.js";
import { button, chartBox, complaint, labelled, make } from "./dom.js";
import { pictureOf, saveButtons } from "./saving.js";
import { headed, latest, typedWords } from "./views.js";

/** @typedef {import("./main.js").App} App */

const AXES = [
  ["bad worse terrible", "good better excellent"],
  ["poor poverty", "rich wealth"],
  ["man he his", "woman she her"],
  ["small little", "large great"],
  ["war enemy", "peace friend"],
  ["old ancient", "new modern"],
];

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function axisView(element, app) {
  const known = AXES.filter((ends) =>
    ends.every((text) => typedWords(text).every((word) => app.find(word) !== undefined)),
  );
  const middle = Math.floor(app.words.length / 3);
  const state = {
    from: known[0]?.[0] ?? app.words[middle],
    to: known[0]?.[1] ?? app.words[(middle + 1) % app.words.length],
  };
  /** @type {import("./source.js").AxisAnswer | null} */
  let answer = null;
  const use = latest();
  const field = (/** @type {string} */ name) =>
    make("input", {
      type: "text",
      name,
      size: 24,
      autocapitalize: "none",
      spellcheck: false,
      autocomplete: "off",
    });
  const from = field("from");
  const to = field("to");
  const output = make("div", { "aria-live": "polite" });
  const bars = chartBox();
  const form = make(
    "form",
    {
      className: "controls",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        ask(from.value, to.value);
      },
    },
    labelled("From", from),
    labelled("to", to),
    make("button", { type: "submit", className: "main", textContent: "Build the axis" }),
  );
  element.append(
    headed(
      "Axes",
      "An axis leads from some words to others. Every word has a place on it: its cosine with the direction from the first words to the second.",
    ),
    form,
    make(
      "div",
      { className: "chips" },
      ...known.map(([a, b]) => button(`${a} → ${b}`, () => ask(a, b), { className: "chip" })),
    ),
    output,
    bars,
    make(
      "div",
      { className: "save" },
      button("Show across the map", () => {
        const other = known.find(([a]) => a !== state.from);
        app.go("map", {
          by: "axes",
          xf: state.from,
          xt: state.to,
          yf: other?.[0] ?? state.from,
          yt: other?.[1] ?? state.to,
        });
      }),
    ),
    saveButtons({
      name: "axis",
      picture: () => pictureOf([...bars.querySelectorAll("svg")], colour("paper")),
      table: () => [
        ["word", "cosine", "percentile"],
        ...(answer?.ends ?? []).map(({ word, cosine, percentile }) => [word, cosine, percentile]),
      ],
    }),
  );

  /** @param {string} a @param {string} b */
  function ask(a, b) {
    state.from = a;
    state.to = b;
    app.keep({ from: a, to: b });
    return show();
  }

  function show() {
    from.value = state.from;
    to.value = state.to;
    const asked = {
      negative: typedWords(state.from),
      positive: typedWords(state.to),
      space: app.space.space,
    };
    return use(
      app.source.axis(app.model.id, asked),
      (found) => {
        answer = found;
        const lost = found.missing.length
          ? ` Not known, and left out: ${found.missing.join(", ")}.`
          : "";
        output.replaceChildren(
          make("p", {
            className: "answer",
            textContent: `The frequent words that are farthest to either side, from “${state.from}” below to “${state.to}” above.${lost}`,
          }),
        );
        draw();
        output.dataset.shown = `${state.from} → ${state.to}`;
      },
      (error) => {
        answer = null;
        bars.replaceChildren();
        output.replaceChildren(complaint(error));
      },
    );
  }

  function draw() {
    if (!answer) return;
    drawBars(bars, {
      label: "Words at the two ends of the axis",
      rows: answer.ends.map(({ word, cosine }) => ({
        name: word,
        value: cosine,
        shown: cosine.toFixed(2).replace("-", "−"),
      })),
    });
  }

  return {
    async show(parameters) {
      state.from = parameters.get("from") ?? state.from;
      state.to = parameters.get("to") ?? state.to;
      await show();
    },
    redraw: draw,
  };
}
