// Relations: pairs of words and whether the model knows what they have in common; shapes that words form.

import { drawBars, drawChart, gramChart, shapeChart, signalChart } from "./charts.js";
import { ask } from "./data.js";
import { chip, filler, intro, make, note, percent, signed, table, typedWords } from "./dom.js";
import { featureTitle } from "./features.js";
import { drawingsIn, saveButtons } from "./saving.js";

const EXAMPLES = 4;
const VERDICTS = {
  relation: [
    "Yes: the model knows this relation.",
    "The pairs share a direction, and right partners fit it better than wrong ones.",
  ],
  groups: [
    "In part: the model tells the two groups of words apart, but not which word belongs to which.",
    "The two kinds of words differ by a shared direction, however they are paired.",
  ],
  association: [
    "In part: partners are similar, but the pairs share no direction.",
    "Partners are near each other, without a direction that all pairs have in common.",
  ],
  none: [
    "No: these pairs share no direction in the model.",
    "The pairs have no more in common than random words of similar frequency.",
  ],
};
const SHAPES = {
  cycle: "a circle",
  line: "a line",
  plane: "a map",
  sphere: "a globe",
  tree: "a tree",
  attributes: "a parallelogram",
};

// The first pairs of a relation, in a sentence.
export function examplePairs({ pairs }) {
  const some = pairs.slice(0, EXAMPLES).map((pair) => pair.join(" → "));
  return `${pairs.length} pairs${pairs.length > EXAMPLES ? ", such as" : ":"} ${some.join(", ")}.`;
}

export const verdict = ({ test }) => VERDICTS[test.verdict][0];
export const showP = (p) => `p = ${Number(p.toPrecision(2))}`;

export function relationView(element, app) {
  const { model, page } = app;
  let answer = null; // the relation or shape that is shown
  let relations = [];
  const field = make("textarea", {
    rows: 8,
    cols: 26,
    spellcheck: false,
    autocapitalize: "none",
    "aria-label": "Pairs of words, one pair per line",
  });
  const [examples, lists] = [make("div.chips"), make("div.chips")];
  const output = make("div.relation", { "aria-live": "polite" });
  const [gram, snr, carried, placed] = [
    make("div.chart"),
    make("div.chart"),
    make("div.chart"),
    make("div.chart"),
  ];
  const fill = filler(output);
  const onsubmit = (event) => {
    event.preventDefault();
    test(pairsOf(field.value));
  };
  const asking = make(
    "form",
    { onsubmit, hidden: !page.live },
    make("label.stack", make("span", "Pairs of words, one pair per line"), field),
    make("button.main", { type: "submit" }, "Test this relation"),
  );
  const [relationsTitle, shapesTitle] = ["Relations", "Shapes"].map((title) =>
    make("h3", { hidden: true }, title),
  );
  const side = make("div", relationsTitle, examples, asking, shapesTitle, lists);
  element.append(
    intro(
      "Relations",
      `Does the model know a relation, such as that between a country and its capital? If it does, the differences between the words of all pairs point the same way. Words that have positions, such as months, form a shape: a circle, a line, a map. ${page.live ? "Paste pairs, or choose an example." : "To test pairs of your own, open the model with qwem explore."}`,
    ),
    make("div.split.wide", side, output),
    saveButtons({ name: "relation", drawing: () => drawingsIn(output), table: savedRows }),
  );

  function savedRows() {
    if (answer?.found) {
      const rows = answer.words.map((word, i) => [word, ...answer.found[i], ...answer.predicted[i]]);
      return [["word", "x", "y", "predicted x", "predicted y"], ...rows];
    }
    const { pairs = [] } = answer?.test ?? {};
    const { dims = [], snr: signal, accuracy } = answer?.analysis ?? {};
    return [
      ["from", "to", "cosine with the mean difference"],
      ...pairs.map(({ source, target, cosine }) => [source, target, cosine]),
      ["dimension", "signal to noise", "analogies answered"],
      ...dims.map((d, i) => [d, signal[i], accuracy[i]]),
    ];
  }

  function test(pairs) {
    const lines = pairs.map((pair) => pair.join(" "));
    field.value = lines.join("\n");
    app.keep({ pairs: lines.join(",") });
    delete output.dataset.shown;
    answer = null;
    return fill(ask("concept", { model: model.number, pairs }), show, "Testing…");
  }

  // The parts that show a relation or a shape; charts are drawn once these are on the page.
  function show(one) {
    answer = one;
    for (const each of side.querySelectorAll(".chip"))
      each.setAttribute("aria-pressed", String(each.textContent === one.name));
    output.dataset.shown = one.name;
    requestAnimationFrame(draw);
    return one.found ? aboutShape(one) : aboutRelation(one);
  }

  function aboutShape({ name, kind, words, missing, numbers, disparity }) {
    const rows = numbers.map((row) => [
      row.what,
      signed(row.value),
      row["by chance"] === null ? "" : signed(row["by chance"]),
      showP(row.p),
    ]);
    const seen = numbers[0].p >= 0.05 ? "no" : disparity < 0.5 ? "" : "traces of";
    return [
      make(
        "p.verdict",
        `${name}: ${seen === "no" ? SHAPES[kind].replace("a", "no") : `${seen} ${SHAPES[kind]}`.trim()}`,
      ),
      make(
        "p",
        "If only their distance decides how often two words occur together, theory predicts where the words lie. Grey dots are the prediction, blue dots the words.",
      ),
      placed,
      note(
        `${words.length} words${missing.length ? `; ${missing.length} more are not in the model` : ""}. After the best rotation the words are ${percent(disparity)} off the prediction (100% if unrelated).`,
      ),
      table(["what", "value", "by chance", ""], rows, "How well the shape fits"),
      note(
        "The block of M* has the target’s numbers between these words: its value is 1 if they depend on the shape alone. The variance is how much of the words’ spread lies in the directions that theory predicts. Positions are decoded from the vectors, each word left out in turn. The p-values compare with shuffled positions.",
      ),
    ];
  }

  function aboutRelation({ pairs, dropped, test: tested, analysis }) {
    field.value = pairs.map((pair) => pair.join(" ")).join("\n");
    const best = tested.dims.indexOf(tested.best_dim);
    const [share, chance] = [tested.share, tested.expected_share].map((each) => percent(each[best] ?? 0));
    const partners =
      tested.pairing_p_value === null ? "" : `, ${showP(tested.pairing_p_value)} for the pairing`;
    const lost = dropped.map((one) => [one].flat().join(" ")).join(", ");
    const fits = tested.pairs.map(({ source, target, cosine }) => [`${source} → ${target}`, signed(cosine)]);
    return [
      make("p.verdict", VERDICTS[tested.verdict][0]),
      make("p", VERDICTS[tested.verdict][1]),
      note(
        `${examplePairs({ pairs })} The pairs have ${share} of their differences in common in ${tested.best_dim} dimensions, where this is clearest; chance would give ${chance}. ${showP(tested.p_value)} for a shared direction${partners}.`,
      ),
      lost ? note(`Left out, because a word is unknown: ${lost}.`) : null,
      make("h2", "Features that carry it"),
      carried,
      ...(analysis
        ? [
            make("h2", "Spike and noise"),
            note(
              `Differences of unrelated words would have eigenvalues under the orange curve (the Marchenko–Pastur law). The spike is at ${(analysis.spike / analysis.edge).toFixed(1)} times its edge; ${percent(analysis.signal_in_mean)} of the spike is the mean difference.`,
            ),
            gram,
            make("h2", "Signal to noise, by dimension"),
            snr,
          ]
        : [note("With six known pairs or more, this page also shows the spectrum of their differences.")]),
      make(
        "details",
        make("summary", "How well each pair fits"),
        table(["pair", "cosine with the mean difference"], fits, "How well each pair fits, the worst first"),
      ),
    ];
  }

  function draw() {
    if (!answer) return;
    const { test: tested, analysis } = answer;
    if (answer.found) return drawChart(placed, shapeChart(answer, placed.clientWidth, 460));
    const carriers = tested.features.slice(0, 8).map(({ rank, share }) => [featureTitle(model, rank), share]);
    drawBars(carried, "Features that carry the relation", carriers, { format: percent });
    if (!analysis) return;
    const others = relations
      .filter((one) => one !== answer && one.analysis)
      .map(({ name, analysis: of }) => ({ name, ...of }));
    drawChart(gram, gramChart(analysis, 280));
    drawChart(snr, signalChart(analysis, others, 260));
  }

  const chips = (title, box, ready) => {
    title.hidden = !ready.length;
    box.replaceChildren(
      ...ready.map((one) => chip(one.name, () => fill(one, show), { "aria-pressed": "false" })),
    );
    return ready;
  };

  // The relation or shape that is wanted, or the first one.
  async function find(wanted) {
    const parts = ["relations", "shapes"].map((name) => model.json(name).catch(() => []));
    relations = chips(relationsTitle, examples, await parts[0]);
    const shapes = parts[1].then((ready) => chips(shapesTitle, lists, ready));
    const known = relations.find(({ name }) => name === wanted);
    if (known || (!wanted && (answer ?? relations[0]))) return known ?? answer ?? relations[0];
    const ready = await shapes;
    return ready.find(({ name }) => name === wanted) ?? answer ?? relations[0] ?? ready[0];
  }

  return {
    show(parameters) {
      const pairs = page.live ? parameters.get("pairs") : null;
      const found = find(parameters.get("name"));
      if (pairs) return test(pairsOf(pairs.replaceAll(",", "\n")));
      const nothing = `None of the built-in relations and shapes has enough of its words in this model. ${page.live ? "Type pairs of words to test your own." : ""}`;
      return fill(found, (one) => (one ? show(one) : [note(nothing)]), answer ? "" : "Testing relations…");
    },
    redraw: draw,
  };
}

function pairsOf(typed) {
  const lines = typed.split(/\n/).map((line) => typedWords(line.replaceAll("→", " ")));
  return lines.filter((pair) => pair.length >= 2).map((pair) => pair.slice(0, 2));
}
