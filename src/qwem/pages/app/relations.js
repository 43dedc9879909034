// Relations: pairs of words, and whether the model knows what they have in common.

import { drawBars, drawChart, gramChart, signalChart } from "./charts.js";
import { ask } from "./data.js";
import {
  button,
  chartBox,
  complaint,
  intro,
  latest,
  make,
  note,
  percent,
  submitButton,
  table,
  typedWords,
} from "./dom.js";
import { featureTitle } from "./features.js";
import { drawingsIn, saveButtons } from "./saving.js";

const EXAMPLES = 4;
const MEANINGS = {
  relation: "The pairs share a direction, and right partners fit it better than wrong ones.",
  groups: "Two kinds of words differ by a shared direction, whichever is paired with which.",
  association: "Partners are near each other, but the pairs share no direction.",
  none: "The pairs have no more in common than random words of similar frequency.",
};
const VERDICTS = {
  relation: "Yes: the model knows this relation.",
  groups: "In part: the model tells the two groups of words apart, but not who belongs to whom.",
  association: "In part: partners are close to each other, but the pairs share no direction.",
  none: "No: these pairs share no direction in the model.",
};

// The first pairs of a relation, in a sentence.
export function examplePairs(relation) {
  const some = relation.pairs
    .slice(0, EXAMPLES)
    .map((pair) => pair.join(" → "))
    .join(", ");
  return `${relation.pairs.length} pairs${relation.pairs.length > EXAMPLES ? ", such as" : ":"} ${some}.`;
}

export const verdict = ({ test }) => VERDICTS[test.verdict];

export function conceptView(element, app) {
  const { model, page } = app;
  let answer = null;
  let ready = [];
  const use = latest();
  const plain = { spellcheck: false, autocapitalize: "none" };
  const field = make("textarea", {
    rows: 8,
    cols: 26,
    "aria-label": "Pairs of words, one pair per line",
    ...plain,
  });
  const examples = make("div.chips");
  const output = make("div.concept", { "aria-live": "polite" });
  const [gram, snr, carried] = [chartBox(), chartBox(), chartBox()];
  const onsubmit = (event) => {
    event.preventDefault();
    test(pairsOf(field.value));
  };
  const asking = make(
    "form",
    { onsubmit, hidden: !page.live },
    make("label.stack", make("span", "Pairs of words, one pair per line"), field),
    submitButton("Test this relation"),
  );
  element.append(
    intro(
      "Relations",
      `Does the model know a relation, such as that between a country and its capital? If it does, the differences between the words of all pairs point the same way. ${page.live ? "Paste pairs, or take an example." : "To test pairs of your own, open the model with qwem explore."}`,
    ),
    make("div.split.wide", make("div", examples, asking), output),
    saveButtons({
      name: "relation",
      drawing: () => drawingsIn(output),
      table: () => [
        ["from", "to", "cosine with the mean difference"],
        ...(answer?.test.pairs ?? []).map(({ source, target, cosine }) => [source, target, cosine]),
        ["dimension", "signal to noise", "analogies answered"],
        ...(answer?.analysis?.dims ?? []).map((d, i) => [
          d,
          answer.analysis.snr[i],
          answer.analysis.accuracy[i],
        ]),
      ],
    }),
  );

  function test(pairs) {
    field.value = pairs.map((pair) => pair.join(" ")).join("\n");
    app.keep({ pairs: pairs.map((pair) => pair.join(" ")).join(",") });
    output.replaceChildren(make("p.waiting", "Testing…"));
    delete output.dataset.shown;
    return use(ask("concept", { model: model.number, pairs }), show, fail);
  }

  const fail = (error) => {
    answer = null;
    output.replaceChildren(complaint(error));
  };

  function show(found) {
    answer = found;
    field.value = found.pairs.map((pair) => pair.join(" ")).join("\n");
    const { test, analysis } = found;
    const best = test.dims.indexOf(test.best_dim);
    const sure =
      test.pairing_p_value === null ? "." : `, ${showP(test.pairing_p_value)} for who belongs to whom.`;
    const dropped = found.dropped.map((one) => [one].flat().join(" ")).join(", ");
    const times = analysis ? (analysis.spike / analysis.edge).toFixed(1) : "";
    output.replaceChildren(
      ...[
        make("p.verdict", verdict(found)),
        make("p", MEANINGS[test.verdict]),
        note(
          `${examplePairs(found)} The pairs have ${percent(test.share[best] ?? 0)} of their differences in common in ${test.best_dim} dimensions, where this is clearest; chance would give ${percent(test.expected_share[best] ?? 0)}. p = ${showP(test.p_value)} for a shared direction${sure}`,
        ),
        dropped ? note(`Left out, because a word is unknown: ${dropped}.`) : null,
        make("h2", "Features that carry it"),
        carried,
        ...(analysis
          ? [
              make("h2", "Spike and noise"),
              note(
                `Differences of unrelated words would have eigenvalues under the orange curve (the Marchenko–Pastur law). The spike is at ${times} times its edge; ${percent(analysis.signal_in_mean)} of the spike is the mean difference.`,
              ),
              gram,
              make("h2", "Signal to noise, by dimension"),
              snr,
            ]
          : [note("With six known pairs or more, this page also shows the spectrum of their differences.")]),
        make(
          "details",
          make("summary", "How well each pair fits"),
          table(
            ["pair", "cosine with the mean difference"],
            test.pairs.map(({ source, target, cosine }) => [`${source} → ${target}`, cosine.toFixed(2)]),
            "How well each pair fits, the worst first",
          ),
        ),
      ].filter(Boolean),
    );
    draw();
    for (const chip of examples.children)
      chip.setAttribute("aria-pressed", String(chip.textContent === found.name));
    output.dataset.shown = found.name;
  }

  function draw() {
    if (!answer) return;
    const { test, analysis } = answer;
    drawBars(carried, {
      label: "Features that carry the relation",
      rows: test.features
        .slice(0, 8)
        .map(({ rank, share }) => ({ name: featureTitle(model, rank), value: share, shown: percent(share) })),
    });
    if (!analysis) return;
    const others = ready
      .filter((one) => one !== answer && one.analysis)
      .map(({ name, analysis: of }) => ({ name, ...of }));
    drawChart(gram, gramChart(analysis, 280));
    drawChart(snr, signalChart(analysis, others, 260));
  }

  return {
    async show(parameters) {
      const given = parameters.get("pairs");
      if (!answer) output.replaceChildren(make("p.waiting", "Testing relations…"));
      ready = await model.json("relations").catch(() => []);
      examples.replaceChildren(
        ...ready.map((one) =>
          button(one.name, () => show(one), { className: "chip", "aria-pressed": "false" }),
        ),
      );
      const named = ready.find(({ name }) => name === parameters.get("name"));
      if (given && page.live) await test(pairsOf(given.replaceAll(",", "\n")));
      else if (named) show(named);
      else if (!answer && ready.length) show(ready[0]);
      else if (!answer)
        output.replaceChildren(
          note(
            page.live
              ? "Type pairs of words to begin."
              : "No common relation is among the words of this page.",
          ),
        );
    },
    redraw: draw,
  };
}

function pairsOf(typed) {
  const lines = typed.split(/\n/).map((line) => typedWords(line.replaceAll("→", " ")));
  return lines.filter((pair) => pair.length >= 2).map((pair) => pair.slice(0, 2));
}

function showP(p) {
  return p < 0.001 ? p.toExponential(0) : p.toPrecision(2);
}
