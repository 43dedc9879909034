// One word: its neighbours at any dimension and time, the words it occurs with, sentences, its
// features, and why it is similar to another.

import { drawBars } from "./charts.js";
import { ask, dot } from "./data.js";
import {
  addressState,
  bar,
  button,
  filler,
  form,
  formatCount,
  intro,
  labelled,
  make,
  note,
  percent,
  range,
  section,
  signed,
  wordButton,
  wordField,
} from "./dom.js";
import { endTitle } from "./features.js";
import { drawingsIn, saveButtons } from "./saving.js";

const NEIGHBOURS = 12;
const PASSAGES = 30;
const SHARED = 8; // words that explain a similarity
const SEARCHED = 60; // words near both, among which these are chosen
const RIDGE = 0.2; // keeps the shares of words that are much alike from growing against each other

// A word that most people know, or the first on the map.
export function startingWord(model) {
  const known = ["king", "music", "water", "good"].find((word) => model.find(word) !== undefined);
  return known ?? model.words[model.order[0]];
}

// The parts that words near both have in the cosine of two words, and the rest, which add up to it.
// With N the directions of those words, a·b = a·P b + rest, where P projects on them (ridge
// regression), and the part of word i is the mean of α_i (b·n_i) and β_i (a·n_i).
async function whySimilar(model, space, a, b, dials = {}) {
  const [one, other] = await space.units([a, b], dials);
  const cosine = dot(one, other);
  const middle = one.map((value, k) => value + other[k]);
  const near = (await space.nearest(middle, SEARCHED, [a, b], dials)).map(([word]) => word);
  const vectors = await space.units(model.rowsOf(near), dials);
  const chosen = [];
  while (chosen.length < Math.min(SHARED, near.length)) {
    // The nearest to both that is least like those chosen before.
    const scores = vectors.map((vector, i) =>
      chosen.includes(i)
        ? -Infinity
        : Math.min(dot(vector, one), dot(vector, other)) -
          0.5 * Math.max(0, ...chosen.map((j) => dot(vector, vectors[j]))),
    );
    chosen.push(scores.indexOf(Math.max(...scores)));
  }
  const basis = chosen.map((i) => vectors[i]);
  const gram = basis.map((u, i) => basis.map((v, j) => dot(u, v) + (i === j ? RIDGE : 0)));
  const [withOne, withOther] = [one, other].map((vector) => basis.map((u) => dot(u, vector)));
  const [alpha, beta] = [withOne, withOther].map((right) => solve(gram, right));
  const parts = chosen.map((i, n) => [near[i], (alpha[n] * withOther[n] + beta[n] * withOne[n]) / 2]);
  const told = parts.reduce((sum, [, part]) => sum + part, 0);
  return { cosine, parts: parts.sort((x, y) => y[1] - x[1]), rest: cosine - told };
}

// The solution of a small system of linear equations, by elimination.
function solve(matrix, right) {
  const rows = matrix.map((row, i) => [...row, right[i]]);
  const n = rows.length;
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const factor = rows[j][i] / rows[i][i];
      for (let k = i; k <= n; k++) rows[j][k] -= factor * rows[i][k];
    }
  }
  const found = Array(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    const known = found.reduce((sum, value, k) => (k > i ? sum + rows[i][k] * value : sum), 0);
    found[i] = (rows[i][n] - known) / rows[i][i];
  }
  return found;
}

export function wordView(element, app) {
  const { model, space, page, words } = app;
  const { end } = space;
  const { state, read, keep } = addressState(
    app,
    { word: startingWord(model), with: "", d: space.depth, t: end },
    { d: [1, space.depth, true], t: [0, end] },
  );
  const nothing = { neighbours: [], collocates: [], features: [], sentences: [], why: null };
  let found = { ...nothing };

  const field = wordField(state.word, { name: "word", "aria-label": "Word" });
  const dim = range(1, space.depth, 1, (d) => set({ d }));
  const time = range(0, end, "any", (t) => set({ t }));
  const now = make("output", { role: "status" });
  const heading = make("h2.theword", "");
  const facts = note("");
  const box = (id) => make("div", { "aria-live": "polite", id });
  const [neighbours, collocates, sentences] = ["word-neighbours", "word-collocates", "word-sentences"].map(
    box,
  );
  const strongest = make("div.chart");
  const otherField = wordField("", { name: "other", "aria-label": "Another word" });
  const why = make("p.answer", { role: "status" });
  const parts = make("div.chart");
  const details = [
    section("h3", "Words it occurs with", collocates),
    section("h3", "Its strongest features", strongest),
    section(
      "h3",
      "Why are two words similar?",
      form(() => set({ with: otherField.value }), "Explain", labelled("Why is it similar to", otherField)),
      why,
      parts,
    ),
    section("h3", "Sentences", sentences),
  ];
  element.append(
    intro(
      "Words",
      "Similar words occur near the same other words, which does not mean that they occur together: compare the two lists. Press “why?” to see what makes two words similar.",
    ),
    form(() => set({ word: field.value, with: "" }), "Show", labelled("Word", field)),
    make(
      "details.dials",
      make("summary", space.run ? "Fewer dimensions, earlier in training" : "Fewer dimensions"),
      make(
        "div.controls",
        labelled("Dimension d", dim, "grow"),
        space.run ? labelled("Time t/τ₁", time, "grow") : null,
        now,
      ),
    ),
    make("div.titleline", heading, facts),
    make("div.columns", section("h3", "Similar words", neighbours), ...details.slice(0, 2)),
    ...details.slice(2),
    saveButtons({
      name: "word",
      drawing: () => drawingsIn(strongest, parts),
      table: () => [
        ["word", state.word, `d = ${state.d}`],
        ["neighbour", "cosine", "lowest", "highest"],
        ...found.neighbours.map((one) => [one.word, one.similarity, one.low, one.high]),
        ["occurs with", "side", "times more often than by chance"],
        ...found.collocates.map((one) => [one.word, one.side, one.ratio]),
        ["feature", "coordinate", "share"],
        ...found.features.map(({ rank, value, share }) => [rank, value, share]),
        ["before", "word", "after"],
        ...found.sentences.map(({ before, word, after }) => [before, word, after]),
      ],
    }),
  );

  const go = (word) => set({ word, with: "" });
  const [fillNeighbours, fillCollocates, fillSentences, fillFeatures] = [
    neighbours,
    collocates,
    sentences,
    strongest,
  ].map((place) => filler(place, go));
  const fillWhy = filler(why, (word) => set({ with: word }));
  const atEnd = () => !space.run || state.t >= end * 0.9999;
  const dials = () => ({
    d: state.d === space.depth ? undefined : state.d,
    t: atEnd() ? undefined : state.t,
  });

  function set(values) {
    Object.assign(state, values);
    update();
    keep({ word: state.word });
  }

  function update() {
    const row = model.find(state.word);
    if (row !== undefined) state.word = words[row];
    [field.value, otherField.value, dim.value, time.value] = [
      state.word,
      state.with,
      String(state.d),
      String(state.t),
    ];
    const moment = atEnd() ? "at the end of training" : `at t = ${state.t.toFixed(2)} τ₁`;
    now.textContent = `${state.d} dimensions${space.run ? `, ${moment}` : ""}`;
    time.setAttribute("aria-valuetext", moment);
    for (const each of details) each.hidden = row === undefined;
    if (row === undefined) {
      found = { ...nothing };
      for (const each of [heading, facts, collocates, strongest, sentences, why, parts])
        each.replaceChildren();
      return fillNeighbours(new Promise(() => model.rowsOf([state.word])));
    }
    heading.textContent = state.word;
    const often = model.counts[row] ? `occurs ${formatCount(model.counts[row])} times, ` : "";
    facts.textContent = `${often}word ${formatCount(row + 1)} of ${formatCount(model.all)} by frequency, ${model.topicNote(row)}`;
    const shown = JSON.stringify([state.word, state.d, atEnd() ? null : state.t]);
    fillNeighbours(findNeighbours(row), (answer) => showNeighbours(answer, shown));
    fillCollocates(findCollocates(row), showCollocates);
    fillFeatures(findFeatures(row), showFeatures);
    showSentences();
    return showWhy(row);
  }

  async function findNeighbours(row) {
    const stable =
      page.live && model.replicates && space === model.spaces[0] && state.d === space.depth && atEnd();
    if (stable) return ask("stable", { model: model.number, word: state.word, count: NEIGHBOURS });
    const near = await space.neighbours(row, NEIGHBOURS, dials());
    return near.map(([word, similarity]) => ({ word, similarity }));
  }

  function showNeighbours(answer, shown) {
    found.neighbours = answer;
    const items = answer.map(({ word, similarity, low, high }) => {
      const interval = low === undefined ? "" : ` (${low.toFixed(2)} to ${high.toFixed(2)})`;
      const ask = { className: "quiet", "aria-label": `Why is ${word} similar?` };
      return make(
        "li",
        wordButton(word, go),
        bar(similarity, `${similarity.toFixed(2)}${interval}`),
        button("why?", () => set({ with: word }), ask),
      );
    });
    const sure = answer.some(({ low }) => low !== undefined);
    neighbours.dataset.shown = shown;
    return [
      make("ol.found.with", ...items),
      sure ? note(`In brackets: the 95% interval over ${model.replicates} replicates of the text.`) : null,
    ];
  }

  // The words before and after a word, each with how many times more often than by chance.
  async function findCollocates(row) {
    if (!model.has("collocates")) return null;
    const all = await model.matrix("collocates");
    const each = all.columns / 4;
    const numbers = all.row(row);
    return [0, each].map((first) =>
      Array.from({ length: each }, (_, k) => ({
        row: numbers[first + k],
        ratio: Math.exp(numbers[2 * each + first + k]),
      }))
        .filter((one) => one.row >= 0 && one.row < words.length)
        .map((one) => ({ word: words[one.row], ratio: one.ratio })),
    );
  }

  function showCollocates(sides) {
    if (!sides) return [note("This model was saved without counts of word pairs; give them with --counts.")];
    const named = model.directed
      ? [
          ["before it", sides[0]],
          ["after it", sides[1]],
        ]
      : [["around it", sides[0]]];
    found.collocates = named.flatMap(([side, list]) => list.map((one) => ({ side, ...one })));
    const most = Math.max(1, ...found.collocates.map(({ ratio }) => Math.log(ratio)));
    const column = ([side, list]) =>
      make(
        "div",
        make("p.side", side),
        make(
          "ol.found",
          ...list.map(({ word, ratio }) =>
            make(
              "li",
              wordButton(word, go),
              bar(Math.log(ratio) / most, `${ratio < 10 ? ratio.toFixed(1) : formatCount(ratio)}×`),
            ),
          ),
        ),
        list.length ? null : note("No word occurs here more often than by chance."),
      );
    return [
      make("div.sides", ...named.map(column)),
      note("× is how many times more often than by chance; the pairs with the most evidence come first."),
    ];
  }

  // How much of a word's vector in the closed form lies on each feature.
  async function findFeatures(row) {
    const [vector] = await model.featureSpace.vectors([row]);
    const length = (await model.featureSpace.lengths())[row] || 1;
    return vector.map((value, k) => ({ rank: k + 1, value, share: (value / length) ** 2 }));
  }

  function showFeatures(answer) {
    found.features = answer;
    const top = [...answer].sort((a, b) => b.share - a.share).slice(0, NEIGHBOURS);
    const rows = top.map(({ rank, value, share }) => [endTitle(model, rank, value), share]);
    drawBars(strongest, `Features that make up ${state.word}`, rows, {
      format: (share) => percent(share, 1),
    });
  }

  async function findSentences() {
    const near = state.with.trim() || undefined;
    if (page.live) return ask("passages", { model: model.number, word: state.word, near });
    return passagesIn(await model.json("sentences"), state.word, near);
  }

  function showSentences() {
    if (!model.sentences) {
      const missing =
        "To see sentences with this word, give the text to qwem explore or qwem report with --sentences.";
      return fillSentences(null, () => [note(missing)]);
    }
    return fillSentences(findSentences(), (lines) => {
      // The end of what comes before stays in sight.
      const line = ({ before, word, after }) =>
        make(
          "li",
          make("span.before", make("bdi", before.replace(/\s$/, "\u00a0"))),
          make("b", word),
          make("span", after),
        );
      found.sentences = lines;
      sentences.dataset.shown = [state.word, state.with.trim()].filter(Boolean).join(" ");
      return [
        lines.length ? make("ol.passages", ...lines.map(line)) : note("No passage was found in the text."),
        page.live ? null : note("This file has a few passages for each word; qwem explore finds all."),
      ];
    });
  }

  function showWhy(row) {
    found.why = null;
    parts.replaceChildren();
    if (!state.with.trim())
      return fillWhy(null, () => ["Type a second word, or press “why?” beside a neighbour."]);
    const explain = async () => {
      const [other] = model.rowsOf([state.with]);
      return whySimilar(model, space, row, other, dials());
    };
    return fillWhy(explain(), (answer) => {
      found.why = answer;
      drawWhy();
      return [
        `The similarity of “${state.word}” and “${state.with}” is ${signed(answer.cosine, 3)}. Both are similar to the words below, whose parts add up to it; the rest is what only these two have in common.`,
      ];
    });
  }

  function drawWhy() {
    const { parts: shared, rest } = found.why;
    const format = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
    drawBars(parts, `What makes ${state.word} and ${state.with} similar`, [...shared, ["the rest", rest]], {
      format,
      follow: go,
      words: shared.length,
    });
  }

  return {
    show(parameters) {
      read(parameters);
      return update();
    },
    redraw() {
      if (found.features.length) showFeatures(found.features);
      if (found.why) drawWhy();
    },
  };
}

// Passages with a word, and with another one if it is given: the text before it, the word, and the
// text after it. The parts of a phrase may be divided by any one character.
function passagesIn(lines, word, near) {
  const [pattern, other] = [word, near ?? word].map((each) => {
    const parts = each
      .split(/[_ ]/)
      .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("'", "['’]"));
    return new RegExp(`(?<![\\p{L}\\p{N}_])${parts.join("[^\\p{L}\\p{N}]")}(?![\\p{L}\\p{N}_])`, "iu");
  });
  return lines
    .filter((line) => other.test(line) && pattern.test(line))
    .slice(0, PASSAGES)
    .map((line) => {
      const { 0: found, index } = pattern.exec(line);
      return { before: line.slice(0, index), word: found, after: line.slice(index + found.length) };
    });
}
