// Analogies: a is to b as c is to what?

import { drawBars } from "./bars.js";
import { colour } from "./components/theme.js";
import { foundList } from "./components/words.js";
import { button, complaint, make, wordField } from "./dom.js";
import { pictureOf, saveButtons } from "./saving.js";
import { headed, latest } from "./views.js";

/** @typedef {import("./main.js").App} App */

const ANALOGIES = [
  ["man", "king", "woman"],
  ["paris", "france", "berlin"],
  ["good", "better", "bad"],
  ["walk", "walked", "play"],
  ["brother", "sister", "son"],
  ["small", "smaller", "large"],
];

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function analogyView(element, app) {
  const known = ANALOGIES.filter((words) => words.every((word) => app.find(word) !== undefined));
  const middle = Math.floor(app.words.length / 3);
  const first = known[0] ?? [0, 1, 2].map((i) => app.words[(middle + i) % app.words.length]);
  /** @type {[string, string, string]} */
  const state = [first[0], first[1], first[2]];
  /** @type {import("./source.js").Found[]} */
  let answers = [];
  const names = ["First word", "Second word", "Third word"];
  const fields = names.map((name, i) => wordField(state[i], { "aria-label": name, size: 11 }));
  const output = make("div", { "aria-live": "polite", id: "analogy-answers" });
  const use = latest();
  const form = make(
    "form",
    {
      className: "controls sentence",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        ask(fields.map(({ value }) => value.trim()));
      },
    },
    fields[0],
    " is to ",
    fields[1],
    " as ",
    fields[2],
    " is to ",
    make("button", { type: "submit", className: "main", textContent: "what?" }),
  );
  const examples = known.map((words) =>
    button(`${words[0]} : ${words[1]} :: ${words[2]} : ?`, () => ask(words), { className: "chip" }),
  );
  element.append(
    headed(
      "Analogies",
      "An analogy takes the difference between the first two words and adds it to the third. The answers are the words nearest to that place.",
    ),
    form,
    make("div", { className: "chips" }, ...examples),
    output,
    saveButtons({
      name: "analogy",
      picture: () =>
        pictureOf(
          [
            drawBars(make("div"), {
              label: state.join(" "),
              rows: answers.map(({ word, cosine }) => ({
                name: word,
                value: cosine,
                shown: cosine.toFixed(2),
              })),
            }),
          ],
          colour("paper"),
        ),
      table: () => [
        ["a", "b", "c", "answer", "cosine"],
        ...answers.map(({ word, cosine }) => [...state, word, cosine]),
      ],
    }),
  );

  /** @param {string[]} words */
  function ask(words) {
    [state[0], state[1], state[2]] = words;
    show();
    app.keep({ a: state[0], b: state[1], c: state[2] });
  }

  function show() {
    fields.forEach((field, i) => (field.value = state[i]));
    return use(
      app.source.analogy(app.model.id, state, { space: app.space.space }),
      (answer) => {
        answers = answer.answers;
        const [a, b, c] = state;
        const best = answers[0]?.word ?? "";
        output.replaceChildren(
          make(
            "p",
            { className: "answer" },
            `${a} is to ${b} as ${c} is to `,
            make("strong", { textContent: best }),
            ".",
          ),
          foundList(
            answers.map(({ word, cosine }) => [word, cosine]),
            app.follow,
          ),
        );
        output.dataset.shown = state.join(" ");
      },
      (error) => {
        answers = [];
        output.replaceChildren(complaint(error));
      },
    );
  }

  return {
    async show(parameters) {
      const given = ["a", "b", "c"].map((name, i) => parameters.get(name) ?? state[i]);
      [state[0], state[1], state[2]] = given;
      await show();
    },
  };
}
