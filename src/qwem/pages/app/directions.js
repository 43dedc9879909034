// Analogies: a is to b as c is to what?

import { drawBars } from "./charts.js";
import { dot, largest, unit } from "./data.js";
import {
  addressState,
  button,
  chip,
  filler,
  form,
  intro,
  labelled,
  make,
  note,
  signed,
  typedWords,
  wordField,
} from "./dom.js";
import { drawingsIn, saveButtons } from "./saving.js";

const ANALOGIES = [
  ["man", "king", "woman", "queen"],
  ["paris", "france", "berlin", "germany"],
  ["good", "better", "bad", "worse"],
  ["walk", "walked", "play", "played"],
  ["brother", "sister", "son", "daughter"],
  ["small", "smaller", "large", "larger"],
];

// Examples of which all words are known, with the answer that people would give.
export function knownAnalogies(model) {
  return ANALOGIES.filter((words) => words.every((word) => model.find(word) !== undefined));
}

// The words that come first on the map, where no example is known.
function firstWordsOf({ words, order }, count) {
  return Array.from({ length: count }, (_, i) => words[order[i % order.length]]);
}

// The words that are to c as b is to a: the nearest to ĉ + b̂ − â.
export async function completeAnalogy(model, space, typed, count = 10) {
  const rows = model.rowsOf(typed);
  const [a, b, c] = await space.units(rows);
  const query = c.map((value, k) => value + b[k] - a[k]);
  return space.nearest(query, count, rows);
}

export function analogyView(element, app) {
  const { model } = app;
  const known = knownAnalogies(model);
  const [a, b, c] = known[0] ?? firstWordsOf(model, 3);
  const { state, read, keep } = addressState(app, { a, b, c });
  let answers = [];
  const names = { a: "First word", b: "Second word", c: "Third word" };
  const fields = Object.entries(names).map(([name, label]) =>
    wordField("", { name, "aria-label": label, size: 14 }),
  );
  const output = make("div", { "aria-live": "polite", id: "analogy-answers" });
  const bars = make("div.chart.narrow");
  const fill = filler(output, app.follow);
  const submit = () => ask(fields.map(({ value }) => value.trim()));
  element.append(
    intro(
      "Analogies",
      "An analogy adds the difference between the first two words to the third. The answers are the words nearest to the result.",
    ),
    form(submit, "what?", fields[0], " is to ", fields[1], " as ", fields[2], " is to "),
    make(
      "div.chips",
      ...known.map((words) => chip(`${words[0]} : ${words[1]} :: ${words[2]} : ?`, () => ask(words))),
    ),
    output,
    bars,
    saveButtons({
      name: "analogy",
      drawing: () => drawingsIn(bars),
      table: () => [
        ["a", "b", "c", "answer", "cosine"],
        ...answers.map((one) => [...Object.values(state), ...one]),
      ],
    }),
  );

  function ask([first, second, third]) {
    Object.assign(state, { a: first, b: second, c: third });
    keep();
    return show();
  }

  function show() {
    const typed = Object.values(state);
    fields.forEach((field, i) => (field.value = typed[i]));
    answers = [];
    bars.replaceChildren();
    return fill(completeAnalogy(model, app.space, typed), (found) => {
      answers = found;
      draw();
      output.dataset.shown = typed.join(" ");
      const said = `${state.a} is to ${state.b} as ${state.c} is to `;
      return [make("p.answer", said, make("strong", found[0]?.[0] ?? ""), ".")];
    });
  }

  function draw() {
    if (answers.length) drawBars(bars, "The nearest words", answers, { format: signed, follow: app.follow });
  }

  return {
    show(parameters) {
      read(parameters);
      return show();
    },
    redraw: draw,
  };
}

// Axes of one's own: from some words to others, and all words along the way.

const AXES = [
  ["bad worse terrible", "good better excellent"],
  ["poor poverty", "rich wealth"],
  ["man he his", "woman she her"],
  ["small little", "large great"],
  ["war enemy", "peace friend"],
  ["old ancient", "new modern"],
];
const FREQUENT = 10_000; // words among which the ends of an axis are searched
const AXIS_ENDS = 10;

// The direction from some words to others, and those that are unknown: the difference of the means
// of their directions, as `qwem.comparison.axis` has it.
export async function axisOf(model, space, from, to) {
  const typed = [typedWords(from), typedWords(to)];
  if (!typed.every(({ length }) => length)) throw new Error("Type at least one word for each end.");
  const known = typed.map((words) => words.filter((word) => model.find(word) !== undefined));
  const missing = typed.flat().filter((word) => model.find(word) === undefined);
  const empty = known.findIndex(({ length }) => !length);
  if (empty >= 0) model.rowsOf(typed[empty]); // an error that names them
  const means = await Promise.all(
    known.map(async (words) => {
      const vectors = await space.units(model.rowsOf(words));
      return vectors[0].map((_, k) => vectors.reduce((sum, vector) => sum + vector[k], 0) / vectors.length);
    }),
  );
  return { direction: unit(means[1].map((value, k) => value - means[0][k])), missing };
}

export function axisView(element, app) {
  const { model, space, words } = app;
  const known = AXES.filter((ends) =>
    ends.every((end) => typedWords(end).every((word) => model.find(word) !== undefined)),
  );
  const [start, end] = known[0] ?? firstWordsOf(model, 2);
  const { state, read, keep } = addressState(app, { from: start, to: end, words: "" });
  let placed = [];
  const [from, to] = ["from", "to"].map((name) => wordField("", { name, size: 24 }));
  const mine = wordField("", { name: "words", size: 30, placeholder: "words to place on it" });
  const output = make("div", { "aria-live": "polite" });
  const bars = make("div.chart.narrow");
  const fill = filler(output, app.follow);
  const submit = () => ask(from.value, to.value, mine.value);
  const onMap = () => {
    const other = known.find(([a]) => a !== state.from);
    app.go("map", {
      by: "axes",
      xf: state.from,
      xt: state.to,
      yf: other?.[0] ?? state.from,
      yt: other?.[1] ?? state.to,
    });
  };
  element.append(
    intro(
      "Axes",
      "An axis goes from some words to others. The place of a word on it is its cosine with the direction from the first words to the second.",
    ),
    form(submit, "Build the axis", labelled("From", from), labelled("to", to), labelled("Where are", mine)),
    make("div.chips", ...known.map(([a, b]) => chip(`${a} → ${b}`, () => ask(a, b, "")))),
    output,
    bars,
    make("div.save", button("Show across the map", onMap)),
    saveButtons({
      name: "axis",
      drawing: () => drawingsIn(bars),
      table: () => [["word", "cosine"], ...placed],
    }),
  );

  function ask(a, b, asked) {
    Object.assign(state, { from: a, to: b, words: asked });
    keep();
    return show();
  }

  // Words on the axis, those nearest to its end first: the typed ones, or those at both ends.
  async function answer() {
    const { direction, missing } = await axisOf(model, space, state.from, state.to);
    if (typedWords(state.words).length) {
      const rows = model.rowsOf(typedWords(state.words));
      const vectors = await space.units(rows);
      const found = rows.map((row, i) => [words[row], dot(vectors[i], direction)]);
      return { missing, found: found.sort((a, b) => b[1] - a[1]) };
    }
    const end = async (sign) => {
      const way = direction.map((value) => sign * value);
      if (space.remote) return space.nearest(way, AXIS_ENDS);
      const frequent = (await space.cosines(way)).subarray(0, FREQUENT);
      return largest(frequent, AXIS_ENDS).map(([row, value]) => [words[row], value]);
    };
    const [high, low] = await Promise.all([end(1), end(-1)]);
    return { missing, found: [...high, ...low.map(([word, value]) => [word, -value]).reverse()] };
  }

  function show() {
    [from.value, to.value, mine.value] = Object.values(state);
    placed = [];
    bars.replaceChildren();
    return fill(answer(), ({ missing, found }) => {
      placed = found;
      output.dataset.shown = `${state.from} → ${state.to}`;
      draw();
      const which = state.words.trim() ? "Your words" : "The frequent words that are farthest to either side";
      return [
        note(`${which}, from “${state.from}” below to “${state.to}” above.`),
        missing.length ? note(`Not known, and left out: ${missing.join(", ")}.`) : null,
      ];
    });
  }

  function draw() {
    if (!placed.length) return;
    drawBars(bars, "Words along the axis", placed, { format: signed, follow: app.follow });
  }

  return {
    show(parameters) {
      read(parameters);
      return show();
    },
    redraw: draw,
  };
}
