// The overview: a page to read and to print. What the text is about, what the model knows, how it
// was learned, and how it was made.

import { shape } from "./charts.js";
import { colouring, paleDots } from "./colouring.js";
import { wordsThatDiffer } from "./compare.js";
import { matrix } from "./data.js";
import { completeAnalogy, knownAnalogies } from "./directions.js";
import {
  button,
  filler,
  form,
  formatCount,
  labelled,
  make,
  note,
  percent,
  table,
  wordButton,
  wordField,
  wordRow,
} from "./dom.js";
import { SPECTRUM_NOTE, drawSpectrum, featureCard } from "./features.js";
import { placesByTopic } from "./map.js";
import { examplePairs, showP, verdict } from "./relations.js";
import { topicColour } from "./theme.js";
import { replay } from "./training.js";
import { startingWord } from "./word.js";
import { mapStage } from "./wordmap.js";

const TOPIC_CARDS = 12;
const FEATURE_CARDS = 9;
const DIFFERENT = 12;
const OFTEN = 100; // the least count of words that are listed as different

export function overviewView(element, app) {
  const { model, page } = app;
  const [redraws, leaves] = [[], []];
  let started = false;

  const section = (id, title, ...children) => make("section.part", { id }, make("h2", title), ...children);
  const prose = (...paragraphs) => make("div.prose", ...paragraphs.map((each) => make("p", each)));

  // A part that comes later, and vanishes if there is nothing to show.
  function later(part, promise, show) {
    const box = make("div");
    part.append(box);
    filler(box)(
      promise,
      (found) => {
        const children = show(found);
        if (!children) part.remove();
        return children;
      },
      "Computing…",
    );
    return part;
  }

  function opening() {
    const field = wordField(startingWord(model), { "aria-label": "Word to look up" });
    const tiles = model.facts.map(([number, label]) => make("div", make("dt", label), make("dd", number)));
    return make(
      "div.opening",
      make("p.kicker", "Word embeddings in closed form"),
      make("h1", page.title),
      make("p.lead", model.about),
      form(() => app.follow(field.value), "Show", labelled("Look up a word", field)),
      make("dl.tiles", ...tiles),
    );
  }

  function topicMap() {
    const stage = mapStage({
      label: "Map of topics.",
      model,
      ink: "muted",
      choose: (row) => app.go("map", { word: model.words[row] }),
    });
    leaves.push(stage.leave);
    redraws.push(async () => {
      const { places, how } = await placesByTopic(model);
      stage.map.place(places, { ...how, keep: stage.box.dataset.shown });
      stage.map.setColours((await colouring(app, "topic", 1, () => {})).colours);
      stage.box.dataset.shown = "topics";
    });
    const cards = model.topics.slice(0, TOPIC_CARDS).map((topic) => {
      const dot = make("span.dot", { "aria-hidden": "true" });
      redraws.push(() => (dot.style.background = topicColour(topic)));
      const facts = `${percent(topic.share, 1)} of the text, ${formatCount(topic.size)} different words`;
      return make(
        "article.card.topic",
        make("h3", dot, topic.title),
        make("p.facts", facts),
        make("p", ...wordRow(topic.words, app.follow)),
      );
    });
    return section(
      "topics",
      "The topics of the text",
      prose(
        `Each dot is a word, and similar words are close together. Colours are topics, named by their most typical words. ${paleDots(model)} Shares are of the text without function words.`,
      ),
      make("figure", stage.element),
      make(
        "div.save",
        button("Open the map", () => app.go("map")),
      ),
      make("div.cards", ...cards),
    );
  }

  function different() {
    if (page.models.length < 2 || model.number) return null;
    const other = page.models[1];
    const part = section(
      "different",
      "What is special about it",
      prose(
        `Words that are used most differently in ${other.name}, among those that occur at least ${OFTEN} times in both. Function words are left out.`,
      ),
    );
    return later(part, Promise.all([matrix("distances/0-1"), app.load(1)]), ([distances, second]) => {
      const words = wordsThatDiffer(model, second, distances.column(0), OFTEN, DIFFERENT).map(
        ([word]) => word,
      );
      const list = wordRow(words, (word) => app.go("compare", { word }));
      return words.length ? [make("p.prose", ...list)] : null;
    });
  }

  function relations() {
    const part = section(
      "relations",
      "Relations it knows",
      prose(
        "The model knows a relation if the differences between the words of all its pairs point the same way. The p-value compares them with random words of similar frequency.",
      ),
    );
    return later(part, model.json("relations"), (found) => {
      if (!found.length) return null;
      const rows = found.map((one) => [
        wordButton(one.name, (name) => app.go("relations", { name })),
        verdict(one).split(":")[0],
        showP(one.test.p_value),
        examplePairs(one),
      ]);
      return [
        table(
          ["relation", "known", "by chance", "pairs"],
          rows,
          "Relations that the model knows",
          "relations",
        ),
        analogies(),
      ];
    });
  }

  // The familiar analogies that the model completes as people do.
  function analogies() {
    const box = make("div.prose");
    const asked = knownAnalogies(model);
    const answer = async (words) => (await completeAnalogy(model, app.space, words.slice(0, 3), 1))[0][0];
    filler(box)(Promise.all(asked.map(answer)), (answers) => {
      const right = asked.filter((words, i) => answers[i] === words[3]);
      const line = ([a, b, c, d]) =>
        make(
          "li",
          `${a} is to ${b} as ${c} is to `,
          wordButton(d, () => app.go("analogies", { a, b, c })),
        );
      return right.length
        ? [
            make("p", `It completes ${right.length} of ${asked.length} familiar analogies as people do:`),
            make("ul.plain", ...right.map(line)),
          ]
        : [];
    });
    return box;
  }

  function features() {
    const shown = model.features.filter((one) => !one.general).slice(0, FEATURE_CARDS);
    if (!shown.length) return null;
    return section(
      "features",
      "What it learned first",
      prose(
        "Features are the directions along which the closed form distinguishes words, the strongest first. Words at one end of a feature occur near similar words, and so do those at the other. Features of general words, which say how sentences are built, are left out here.",
      ),
      make("div.cards", ...shown.map((feature) => featureCard(app, feature))),
      make(
        "div.save",
        button("All features", () => app.go("features")),
      ),
    );
  }

  function training() {
    if (!model.spaces.some(({ run: has }) => has)) return null;
    const run = replay(app);
    redraws.push(() => run.show());
    leaves.push(run.leave);
    return section(
      "training",
      "Training, replayed",
      prose(
        `If the model were trained from a small random start, it would learn its features one after the other, the strongest first. A formula gives this run. Press play: the words start together and move apart as features are learned. ${model.training_note}`,
      ),
      run.element,
    );
  }

  function results() {
    if (!page.results.length) return null;
    return section(
      "results",
      "Results",
      prose(
        "Results of other commands on this model. A line beside a row is its 95% interval over documents, or its path from the first text to the last; the dashed line is zero.",
      ),
      ...page.results.map(resultTable),
    );
  }

  function stability() {
    if (!model.has("stability")) return null;
    return later(section("stability", "How sure it is"), model.json("stability"), ({ summary, rows }) => [
      prose(summary),
      table([], rows, "Nearest words with standard errors"),
    ]);
  }

  function scores() {
    const part = section(
      "scores",
      "How well it knows words",
      prose(
        "Scores on published benchmarks. An analogy question, Athens is to Greece as Oslo is to what?, is answered correctly if the correct word comes first among all words. There are two usual formulas for the answer, 3CosAdd and 3CosMul. For rated pairs, the model’s similarities are compared with people’s ratings by rank correlation. Questions and pairs with a word that the model does not have are skipped.",
      ),
    );
    return later(part, model.json("scores"), (found) => (found.length ? found.map(resultTable) : null));
  }

  function making() {
    const spectrum = make("div.chart");
    redraws.push(() => drawSpectrum(spectrum, model, 320));
    return section(
      "making",
      "How it was made",
      prose(...model.paragraphs),
      make("h3", "The spectrum"),
      prose(SPECTRUM_NOTE),
      make("figure", spectrum),
      model.settings.length
        ? make(
            "details",
            make("summary", "All settings"),
            table(
              [],
              model.settings.map(([name, value, meaning]) => [make("code", name), value, meaning]),
              "Settings",
            ),
          )
        : null,
      note(`Made by qwem ${page.version}. The method: Karkada, Simon, Bahri and DeWeese, 2025.`),
    );
  }

  return {
    show() {
      if (started) return;
      started = true;
      const parts = [
        opening(),
        topicMap(),
        different(),
        relations(),
        features(),
        training(),
        results(),
        stability(),
        scores(),
        making(),
      ];
      element.append(...parts.filter(Boolean));
      for (const draw of redraws) draw();
    },
    redraw() {
      if (started) for (const draw of redraws) draw();
    },
    leave: () => leaves.forEach((leave) => leave()),
  };
}

// A result with its heading; intervals and paths are drawn beside the rows.
function resultTable({ title, heading, header, rows, more, drawn, numbers }) {
  const every = [0, ...numbers.flat()];
  const bounds = [Math.min(...every), Math.max(...every)];
  const cells = rows.map((row, i) =>
    drawn && numbers[i].length ? [...row, sparkline(drawn, numbers[i], bounds)] : row,
  );
  return make(
    "div.result",
    title ? make("h3", title) : null,
    heading ? make("p.heading", heading) : null,
    table(drawn ? [...header, ""] : header, cells, title, "results"),
    more ? note(`And ${formatCount(more)} more rows.`) : null,
  );
}

// A small drawing of an interval or a path; all of a table have the same scale.
function sparkline(drawn, numbers, [low, high]) {
  const [width, tall, edge] = [150, drawn === "paths" ? 36 : 18, 4];
  const across = (value, room) => edge + ((value - low) / (high - low || 1)) * (room - 2 * edge);
  const svg = shape("svg", {
    viewBox: `0 0 ${width} ${tall}`,
    width,
    height: tall,
    role: "img",
    "aria-label": numbers.join(drawn === "paths" ? " then " : " to "),
  });
  const draw = (className, d) => svg.append(shape("path", { class: className, d }));
  const dot = (cx, cy) => svg.append(shape("circle", { cx, cy, r: 3 }));
  if (drawn === "intervals") {
    const [left, right, zero] = [...numbers, 0].map((value) => across(value, width));
    draw("zero", `M${zero} 0V${tall}`);
    draw("line", `M${left} ${tall / 2}H${right}`);
    dot((left + right) / 2, tall / 2);
  } else {
    const step = (width - 2 * edge) / Math.max(1, numbers.length - 1);
    const places = numbers.map((value, i) => [edge + step * i, tall - across(value, tall)]);
    draw("zero", `M0 ${tall - across(0, tall)}H${width}`);
    draw("line", `M${places.map((place) => place.join(" ")).join(" L")}`);
    dot(...places.at(-1));
  }
  return svg;
}
