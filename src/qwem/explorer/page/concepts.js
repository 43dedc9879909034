// Concepts: pairs of words in one relation, and whether the model knows that relation.

import { drawBars } from "./bars.js";
import { drawChart } from "./components/chart.js";
import { gramChart, signalChart } from "./components/relations.js";
import { colour } from "./components/theme.js";
import { button, chartBox, complaint, make, tableOf } from "./dom.js";
import { pictureOf, saveButtons } from "./saving.js";
import { featureTitle, headed, latest, typedWords } from "./views.js";

/** @typedef {import("./main.js").App} App */

const EXAMPLE_PAIRS = 4;

/** @type {Record<string, string>} */
const LISTS = {
  "man → woman":
    "man woman, king queen, father mother, son daughter, brother sister, husband wife, boy girl, he she, uncle aunt, actor actress",
  "country → capital":
    "france paris, germany berlin, italy rome, spain madrid, england london, russia moscow, japan tokyo, egypt cairo, greece athens, poland warsaw",
  "one → many":
    "city cities, year years, book books, river rivers, king kings, war wars, language languages, church churches, state states, town towns",
  "now → then":
    "is was, has had, make made, become became, write wrote, take took, give gave, find found, begin began, come came",
};

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function conceptView(element, app) {
  /** @type {import("./source.js").ConceptAnswer | null} */
  let answer = null;
  const use = latest();
  const text = make("textarea", {
    rows: 8,
    cols: 26,
    "aria-label": "Pairs of words, one pair per line",
    spellcheck: false,
    autocapitalize: "none",
  });
  const examples = make("div", { className: "chips" });
  const output = make("div", { className: "concept", "aria-live": "polite" });
  const gram = chartBox();
  const snr = chartBox();
  const carried = chartBox();
  const form = make(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        ask(pairsOf(text.value));
      },
    },
    make(
      "label",
      { className: "stack" },
      make("span", { textContent: "Pairs of words, one pair per line" }),
      text,
    ),
    make("button", { type: "submit", className: "main", textContent: "Test this relation" }),
  );
  form.hidden = !app.source.canAsk;
  element.append(
    headed(
      "Concepts",
      "Does the model know a relation, such as that between a country and its capital? If it does, the differences between the words of all pairs point the same way." +
        (app.source.canAsk ? " Paste pairs, or take an example." : " Take an example."),
    ),
    make(
      "div",
      { className: "split wide" },
      make("div", { className: "asking" }, examples, form),
      output,
    ),
    saveButtons({
      name: "concept",
      picture: () => pictureOf([...output.querySelectorAll("svg")], colour("paper")),
      table: () => [
        ["from", "to", "cosine with the mean difference"],
        ...(answer?.test.pairs ?? []).map(({ source, target, cosine }) => [source, target, cosine]),
        ["dimension", "signal to noise", "analogies answered"],
        ...(answer?.analysis?.dims ?? []).map((d, i) => [
          d,
          answer?.analysis?.snr[i],
          answer?.analysis?.accuracy[i],
        ]),
      ],
    }),
  );

  /**
   * @param {string[][]} pairs
   * @param {string} [name]
   */
  function ask(pairs, name) {
    text.value = pairs.map((pair) => pair.join(" ")).join("\n");
    app.keep({ pairs: pairs.map((pair) => pair.join(" ")).join(","), name });
    output.replaceChildren(make("p", { className: "waiting", textContent: "Testing…" }));
    delete output.dataset.shown;
    return use(
      app.source.concept(app.model.id, { pairs, name, space: undefined }),
      show,
      (error) => {
        answer = null;
        output.replaceChildren(complaint(error));
      },
    );
  }

  /** @param {import("./source.js").ConceptAnswer} found */
  function show(found) {
    answer = found;
    const { test, analysis } = found;
    /** @type {Record<string, string>} */
    const verdicts = {
      relation: "Yes: the model knows this relation.",
      groups:
        "In part: the model tells the two groups of words apart, but not who belongs to whom.",
      association: "In part: partners are close to each other, but the pairs share no direction.",
      none: "No: these pairs share no direction in the model.",
    };
    const best = test.dims.indexOf(test.best_dim);
    const part = (/** @type {(number | null)[]} */ shares) =>
      `${(100 * (shares[best] ?? 0)).toFixed(0)}%`;
    const share = `The pairs have ${part(test.share)} of their differences in common in ${test.best_dim} dimensions, where this is clearest; chance would give ${part(test.expected_share)}.`;
    const sure =
      `p = ${showP(test.p_value)} for a shared direction` +
      (test.pairing_p_value === null
        ? "."
        : `, ${showP(test.pairing_p_value)} for who belongs to whom.`);
    const some = found.pairs
      .slice(0, EXAMPLE_PAIRS)
      .map((pair) => pair.join(" → "))
      .join(", ");
    const told = `${found.pairs.length} pairs${found.pairs.length > EXAMPLE_PAIRS ? ", such as" : ":"} ${some}.`;
    const missing = found.dropped.length
      ? make("p", {
          className: "note",
          textContent: `Left out, because a word is unknown: ${found.dropped.map((one) => [one].flat().join(" ")).join(", ")}.`,
        })
      : null;
    /** @type {(Node | null)[]} */
    const parts = [
      make("p", { className: "verdict", textContent: verdicts[test.verdict] ?? test.meaning }),
      make("p", { textContent: test.meaning }),
      make("p", { className: "note", textContent: `${told} ${share} ${sure}` }),
      missing,
      make("h2", { textContent: "Features that carry it" }),
      carried,
    ];
    if (analysis) {
      const times = (analysis.spike / analysis.edge).toFixed(1);
      parts.push(
        make("h2", { textContent: "Spike and noise" }),
        make("p", {
          className: "note",
          textContent: `Differences of unrelated words would have eigenvalues under the orange curve. The spike is at ${times} times its edge; ${(100 * analysis.signal_in_mean).toFixed(0)}% of the spike is the mean difference.`,
        }),
        gram,
        make("h2", { textContent: "Signal to noise, by dimension" }),
        snr,
      );
    } else
      parts.push(
        make("p", {
          className: "note",
          textContent:
            "With six known pairs or more, this page also shows the spectrum of their differences.",
        }),
      );
    const worst = test.pairs.map(({ source, target, cosine }) => [
      `${source} → ${target}`,
      cosine.toFixed(2),
    ]);
    parts.push(
      make(
        "details",
        {},
        make("summary", { textContent: "How well each pair fits" }),
        tableOf(
          ["pair", "cosine with the mean difference"],
          worst,
          "How well each pair fits, the worst first",
        ),
      ),
    );
    output.replaceChildren(...parts.filter((part) => part !== null));
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
      rows: test.features.slice(0, 8).map(({ rank, share }) => ({
        name: featureTitle(app.features, rank),
        value: share,
        shown: `${(100 * share).toFixed(0)}%`,
      })),
    });
    if (!analysis) return;
    drawChart(gram, gramChart(analysis, 280));
    drawChart(snr, signalChart(analysis, [], 260));
  }

  return {
    async show(parameters) {
      const ready = await app.source.concepts();
      /** @type {[string, string[][]][]} */
      const lists = ready.length
        ? ready.map(({ name, pairs }) => [name, pairs])
        : Object.entries(LISTS).map(([name, list]) => [name, pairsOf(list.replaceAll(", ", "\n"))]);
      const fitting = lists.filter(
        ([, pairs]) =>
          ready.length ||
          pairs.filter((pair) => pair.every((word) => app.find(word) !== undefined)).length >= 4,
      );
      examples.replaceChildren(
        ...fitting.map(([name, pairs]) =>
          button(name, () => ask(pairs, name), { className: "chip", "aria-pressed": "false" }),
        ),
      );
      const given = parameters.get("pairs");
      if (given)
        await ask(pairsOf(given.replaceAll(",", "\n")), parameters.get("name") ?? undefined);
      else if (!answer && fitting.length) await ask(fitting[0][1], fitting[0][0]);
      else if (!answer)
        output.replaceChildren(
          make("p", { className: "note", textContent: "Type pairs of words to begin." }),
        );
    },
    redraw: draw,
  };
}

/**
 * @param {string} text
 * @returns {string[][]}
 */
function pairsOf(text) {
  return text
    .split(/\n/)
    .map((line) => typedWords(line.replaceAll("→", " ")))
    .filter((pair) => pair.length >= 2)
    .map((pair) => pair.slice(0, 2));
}

/** @param {number} p */
function showP(p) {
  return p < 0.001 ? p.toExponential(0) : p.toPrecision(2);
}
