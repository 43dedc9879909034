// Features: cards with the words at both ends, which can be named and shown on the map.

import { wordElement } from "./components/words.js";
import { button, chartBox, complaint, labelled, make } from "./dom.js";
import { drawChart, shortNumber } from "./components/chart.js";
import { spectrumChart } from "./components/spectrum.js";
import { colour } from "./components/theme.js";
import { pictureOf, saveButtons } from "./saving.js";
import { featureTitle, headed } from "./views.js";

/** @typedef {import("./main.js").App} App */

const FIRST = 24;

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function featureView(element, app) {
  const cards = make("div", { className: "cards" });
  const search = make("input", {
    type: "search",
    placeholder: "word or name",
    autocapitalize: "none",
    spellcheck: false,
    oninput: () => show(true),
  });
  const said = make("span", { className: "said", role: "status" });
  const more = button("Show more features", () => {
    count += FIRST;
    show(true);
  });
  let count = FIRST;
  const spectrum = chartBox();
  element.append(
    headed(
      "Features",
      "Each card is a feature: a direction along which the model distinguishes words. The first ones explain most of the text and are learned first. Which end is called which has no meaning.",
    ),
    make("div", { className: "controls" }, labelled("Search", search), said),
    cards,
    make("div", { className: "save" }, more),
    make("h2", { textContent: "The spectrum" }),
    make("p", {
      className: "note",
      textContent:
        "Each dot is a feature: the higher it is, the more of the text it explains. Point at a dot to see its words. Orange dots have a negative eigenvalue: words at one end occur near words of the other end.",
    }),
    spectrum,
    saveButtons({
      name: "features",
      picture: () => pictureOf([...spectrum.querySelectorAll("svg")], colour("paper")),
      table: () => [
        ["feature", "name", "eigenvalue", "share", "learned at t/τ₁", "one end", "the other end"],
        ...app.features.map((one) => [
          one.rank,
          one.name,
          one.eigenvalue,
          one.share,
          one.learning_time,
          one.positive.map(({ word }) => word).join(" "),
          one.negative.map(({ word }) => word).join(" "),
        ]),
      ],
    }),
  );

  /** @param {boolean} typed */
  function show(typed) {
    const wanted = search.value.trim().toLowerCase();
    const fitting = app.features.filter(({ name, positive, negative }) =>
      [name, ...[...positive, ...negative].map(({ word }) => word)].some((text) =>
        text.toLowerCase().includes(wanted),
      ),
    );
    cards.replaceChildren(...fitting.slice(0, count).map((feature) => card(app, feature)));
    more.hidden = fitting.length <= count;
    said.textContent = wanted ? `${fitting.length} of ${app.features.length} features` : "";
    if (typed) app.keep({ find: search.value, first: count > FIRST ? count : undefined });
  }

  function draw() {
    const nameOf = (/** @type {number} */ rank) => featureTitle(app.features, rank);
    drawChart(spectrum, spectrumChart(app.space.eigenvalues, nameOf, 300));
  }

  return {
    redraw: draw,
    refresh: () => show(false),
    show(parameters) {
      draw();
      search.value = parameters.get("find") ?? "";
      count = Math.max(FIRST, Number(parameters.get("first")) || FIRST);
      show(false);
    },
  };
}

/**
 * @param {App} app
 * @param {import("./source.js").FeatureFacts} feature
 */
function card(app, feature) {
  const { rank } = feature;
  const heading = make("h2", {});
  const said = make("span", { className: "said", role: "status" });
  const showName = () =>
    (heading.textContent = feature.name ? `${rank}: ${feature.name}` : `Feature ${rank}`);
  showName();
  const facts = [
    `${(100 * feature.share).toFixed(1)}% of the spectrum`,
    `λ = ${shortNumber(feature.eigenvalue)}`,
  ];
  if (feature.learning_time !== null)
    facts.push(`learned at ${feature.learning_time.toFixed(2)} τ₁`);
  if (feature.participation)
    facts.push(`carried by about ${Math.round(feature.participation).toLocaleString("en")} words`);
  const end = (
    /** @type {string} */ side,
    /** @type {string} */ label,
    /** @type {import("./source.js").Found[]} */ found,
  ) =>
    make(
      "div",
      { className: side },
      make("h3", { textContent: label }),
      make(
        "ol",
        {},
        ...found.map(({ word, cosine }) =>
          make(
            "li",
            {},
            wordElement(word, app.follow),
            make("span", { className: "cosine", textContent: Math.abs(cosine).toFixed(2) }),
          ),
        ),
      ),
    );
  const field = make("input", {
    type: "text",
    value: feature.name,
    maxLength: 80,
    placeholder: "give it a name",
    "aria-label": `Name of feature ${rank}`,
  });
  const form = make(
    "form",
    {
      className: "naming",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        try {
          const { name } = await app.source.nameFeature(
            app.model.id,
            app.space.space,
            rank,
            field.value.trim(),
          );
          feature.name = name;
          showName();
          said.replaceChildren(name ? "Name kept with the model." : "Name removed.");
        } catch (error) {
          said.replaceChildren(complaint(error));
        }
      },
    },
    field,
    make("button", { type: "submit", textContent: "Keep" }),
    said,
  );
  return make(
    "article",
    { className: "card", "data-rank": String(rank) },
    heading,
    make("p", { className: "facts", textContent: facts.join(" · ") }),
    make(
      "div",
      { className: "ends" },
      end("positive", "one end", feature.positive),
      end("negative", "the other end", feature.negative),
    ),
    make(
      "div",
      { className: "save" },
      button(
        "Across the map",
        () => app.go("map", { x: rank, y: rank === 1 ? Math.min(2, app.space.dim) : 1 }),
        { "aria-label": `Show feature ${rank} across the map` },
      ),
      button(
        "Up the map",
        () => app.go("map", { x: rank === 1 ? Math.min(2, app.space.dim) : 1, y: rank }),
        { "aria-label": `Show feature ${rank} up the map` },
      ),
    ),
    app.model.can_name ? form : null,
  );
}
