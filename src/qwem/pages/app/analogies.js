// Analogies: a is to b as c is to what?

import { drawBars } from "./charts.js";
import { button, complaint, form, foundList, intro, latest, make, submitButton, wordField } from "./dom.js";
import { drawingsIn, saveButtons } from "./saving.js";

const ANALOGIES = [
  ["man", "king", "woman"],
  ["paris", "france", "berlin"],
  ["good", "better", "bad"],
  ["walk", "walked", "play"],
  ["brother", "sister", "son"],
  ["small", "smaller", "large"],
];

// Examples of which all words are known.
export function knownAnalogies(model) {
  return ANALOGIES.filter((words) => words.every((word) => model.find(word) !== undefined));
}

// The words that are to c as b is to a: the nearest to ĉ + b̂ − â.
export async function completeAnalogy(model, space, typed, count = 10) {
  const rows = model.rowsOf(typed);
  const [a, b, c] = await space.directions(rows);
  const query = c.map((value, k) => value + b[k] - a[k]);
  const found = await space.nearest(query, count, rows);
  return found.map(([row, cosine]) => [model.words[row], cosine]);
}

export function analogyView(element, app) {
  const { model } = app;
  const known = knownAnalogies(model);
  const middle = Math.floor(app.words.length / 3);
  let state = known[0] ?? [0, 1, 2].map((i) => app.words[(middle + i) % app.words.length]);
  let answers = [];
  const names = ["First word", "Second word", "Third word"];
  const fields = names.map((name, i) => wordField(state[i], { "aria-label": name, size: 11 }));
  const output = make("div", { "aria-live": "polite", id: "analogy-answers" });
  const use = latest();
  const submit = () => ask(fields.map(({ value }) => value.trim()));
  element.append(
    intro(
      "Analogies",
      "An analogy takes the difference between the first two words and adds it to the third. The answers are the words nearest to that place.",
    ),
    form(submit, fields[0], " is to ", fields[1], " as ", fields[2], " is to ", submitButton("what?")),
    make(
      "div",
      { className: "chips" },
      ...known.map((words) =>
        button(`${words[0]} : ${words[1]} :: ${words[2]} : ?`, () => ask(words), { className: "chip" }),
      ),
    ),
    output,
    saveButtons({
      name: "analogy",
      drawing: () => {
        const box = make("div");
        const rows = answers.map(([name, value]) => ({ name, value, shown: value.toFixed(2) }));
        drawBars(box, { label: state.join(" "), rows });
        return drawingsIn(box);
      },
      table: () => [["a", "b", "c", "answer", "cosine"], ...answers.map((one) => [...state, ...one])],
    }),
  );

  function ask(words) {
    state = words;
    show();
    app.keep({ a: state[0], b: state[1], c: state[2] });
  }

  function show() {
    fields.forEach((field, i) => (field.value = state[i]));
    const [a, b, c] = state;
    return use(
      completeAnalogy(model, app.space, state),
      (found) => {
        answers = found;
        const best = make("strong", { textContent: answers[0]?.[0] ?? "" });
        const said = make("p", { className: "answer" }, `${a} is to ${b} as ${c} is to `, best, ".");
        output.replaceChildren(said, foundList(answers, app.follow));
        output.dataset.shown = state.join(" ");
      },
      (error) => {
        answers = [];
        output.replaceChildren(complaint(error, app.follow));
      },
    );
  }

  return {
    show(parameters) {
      state = ["a", "b", "c"].map((name, i) => parameters.get(name) ?? state[i]);
      return show();
    },
  };
}
