// Beside the map: the neighbours of a chosen word, or a list of several.

import { foundList } from "./components/words.js";
import { button, complaint, make } from "./dom.js";
import { latest } from "./views.js";

/** @typedef {import("./main.js").App} App */

const LISTED = 60; // selected words that are listed; all of them are in the table

/**
 * @param {App} app
 * @param {(rows: number[]) => void} select
 * @param {(word: string) => void} jump show a word on the map, wherever it is
 */
export function selectionPanel(app, select, jump) {
  const element = make("aside", {
    className: "aside",
    "aria-live": "polite",
    "aria-label": "Selected words",
  });
  const use = latest();
  const fail = (/** @type {unknown} */ error) => element.replaceChildren(complaint(error));
  const clear = () => button("Clear", () => select([]));

  /** @param {string} word */
  function one(word) {
    const asked = app.source.neighbours(app.model.id, word, { space: app.space.space, n: 12 });
    return asked.then(({ neighbours }) => [
      make("h2", { textContent: word }),
      make("p", {
        className: "note",
        textContent: `Its nearest words in all ${app.space.dim} dimensions:`,
      }),
      foundList(
        neighbours.map((near) => [near.word, near.cosine]),
        jump,
      ),
      make(
        "div",
        { className: "save" },
        button("More about this word", () => app.follow(word)),
        clear(),
      ),
    ]);
  }

  /** @param {number[]} rows */
  function several(rows) {
    const listed = rows.slice(0, LISTED).map((row) => {
      const word = button(app.words[row], () => select([row]), { className: "word" });
      return make("li", {}, word);
    });
    const rest = rows.length > LISTED ? "These are the most frequent; Save table has all." : "";
    return [
      make("h2", { textContent: `${rows.length.toLocaleString("en")} words` }),
      make("ul", { className: "several" }, ...listed),
      make("p", { className: "note", textContent: rest }),
      make("div", { className: "save" }, clear()),
    ];
  }

  function none() {
    const text = "Click a word to see its neighbours, or select several with a loop.";
    return [make("p", { className: "note", textContent: text })];
  }

  return {
    element,
    /** @param {number[]} rows */
    show(rows) {
      /** @type {Promise<HTMLElement[]>} */
      const parts =
        rows.length === 1
          ? one(app.words[rows[0]])
          : Promise.resolve(rows.length ? several(rows) : none());
      return use(parts, (found) => element.replaceChildren(...found), fail);
    },
  };
}
