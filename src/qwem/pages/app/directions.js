// Analogies: a is to b as c is to what?

import { drawBars } from "./charts.js";
import { largest, unit } from "./data.js";
import {
  button,
  chartBox,
  complaint,
  form,
  foundList,
  intro,
  labelled,
  latest,
  make,
  note,
  signed,
  submitButton,
  typedWords,
  wordField,
} from "./dom.js";
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
      "An analogy adds the difference between the first two words to the third. The answers are the words nearest to the result.",
    ),
    form(submit, fields[0], " is to ", fields[1], " as ", fields[2], " is to ", submitButton("what?")),
    make(
      "div.chips",
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
        const best = make("strong", answers[0]?.[0] ?? "");
        const said = make("p.answer", `${a} is to ${b} as ${c} is to `, best, ".");
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
      const vectors = await space.directions(model.rowsOf(words));
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
  const middle = Math.floor(words.length / 3);
  const state = {
    from: known[0]?.[0] ?? words[middle],
    to: known[0]?.[1] ?? words[(middle + 1) % words.length],
    words: "",
  };
  let placed = [];
  const use = latest();
  const [from, to] = ["from", "to"].map((name) => wordField("", { name, size: 24 }));
  const mine = wordField("", { name: "words", size: 30, placeholder: "words to place on it" });
  const output = make("div", { "aria-live": "polite" });
  const bars = chartBox();
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
    form(
      submit,
      labelled("From", from),
      labelled("to", to),
      labelled("Where are", mine),
      submitButton("Build the axis"),
    ),
    make(
      "div.chips",
      ...known.map(([a, b]) => button(`${a} → ${b}`, () => ask(a, b, ""), { className: "chip" })),
    ),
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
    app.keep(state);
    return show();
  }

  async function answer() {
    const { direction, missing } = await axisOf(model, space, state.from, state.to);
    if (typedWords(state.words).length) {
      const rows = model.rowsOf(typedWords(state.words));
      const vectors = await space.directions(rows);
      const found = rows.map((row, i) => [
        words[row],
        vectors[i].reduce((sum, v, k) => sum + v * direction[k], 0),
      ]);
      return { missing, found: found.sort((a, b) => b[1] - a[1]) };
    }
    const opposite = direction.map((value) => -value);
    if (space.remote) {
      const [high, low] = await Promise.all(
        [direction, opposite].map((way) => space.nearest(way, AXIS_ENDS)),
      );
      return {
        missing,
        found: [...high, ...low.map(([row, v]) => [row, -v]).reverse()].map(([row, v]) => [words[row], v]),
      };
    }
    const cosines = (await space.cosines(direction)).subarray(0, FREQUENT);
    const low = largest(
      cosines.map((value) => -value),
      AXIS_ENDS,
    );
    const rows = [...largest(cosines, AXIS_ENDS), ...low.map(([row, value]) => [row, -value]).reverse()];
    return { missing, found: rows.map(([row, value]) => [words[row], value]) };
  }

  function show() {
    from.value = state.from;
    to.value = state.to;
    mine.value = state.words;
    return use(
      answer(),
      ({ missing, found }) => {
        placed = found;
        const lost = missing.length ? ` Not known, and left out: ${missing.join(", ")}.` : "";
        const which = state.words.trim()
          ? "Your words"
          : "The frequent words that are farthest to either side";
        output.replaceChildren(note(`${which}, from “${state.from}” below to “${state.to}” above.${lost}`));
        draw();
        output.dataset.shown = `${state.from} → ${state.to}`;
      },
      (error) => {
        placed = [];
        bars.replaceChildren();
        output.replaceChildren(complaint(error));
      },
    );
  }

  function draw() {
    if (!placed.length) return;
    const rows = placed.map(([name, value]) => ({ name, value, shown: signed(value) }));
    drawBars(bars, { label: "Words along the axis", rows });
  }

  return {
    show(parameters) {
      for (const name of Object.keys(state)) state[name] = parameters.get(name) ?? state[name];
      return show();
    },
    redraw: draw,
  };
}
