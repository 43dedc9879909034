// Features: cards titled by words, which can be named and shown on the map, and the spectrum.

import { drawChart } from "./charts.js";
import { ask } from "./data.js";
import {
  button,
  filler,
  formatCount,
  intro,
  labelled,
  make,
  note,
  percent,
  signed,
  wordButton,
} from "./dom.js";
import { drawingsIn, saveButtons } from "./saving.js";

const CARDS = 24;

// What a feature is called: by the name that somebody gave it, or by its first words.
export function featureTitle(model, rank) {
  const feature = model.features[rank - 1];
  return feature ? feature.name || feature.title || `Feature ${rank}` : `Feature ${rank}`;
}

// What the end of a feature is called on which a coordinate lies.
export function endTitle(model, rank, value) {
  const feature = model.features[rank - 1];
  return (
    feature?.name || firstWords(feature?.[value < 0 ? "negative" : "positive"] ?? [], 3) || `Feature ${rank}`
  );
}

// Features that can be chosen, by their rank.
export function featureChoices(model, most = Infinity) {
  return model.features
    .slice(0, most)
    .map(({ rank }) => [String(rank), `${rank}: ${featureTitle(model, rank)}`]);
}

// What is written beside an axis of a map that shows a feature.
export function axisTitle(model, rank) {
  const feature = model.features[rank - 1];
  if (!feature) return `feature ${rank}`;
  const [low, high] = [feature.negative, feature.positive].map((end) => firstWords(end, 2));
  return `← ${low} · ${feature.name || `feature ${rank}`} · ${high} →`;
}

export function firstWords(end, count) {
  return end
    .slice(0, count)
    .map(({ word }) => word)
    .join(", ");
}

// The spectrum, with the words of each feature under the pointer.
export function drawSpectrum(element, model, height) {
  const { eigenvalues, run } = model.featureSpace;
  const nameOf = (rank) => {
    const size = Number(Math.abs(eigenvalues[rank - 1]).toPrecision(4)).toLocaleString("en");
    const when = run ? `, learned at ${run.learning_times[rank - 1].toFixed(2)} τ₁` : "";
    const feature = model.features[rank - 1];
    const ends = feature
      ? `\n+ ${firstWords(feature.positive, 6)}\n− ${firstWords(feature.negative, 6)}`
      : "";
    return `Feature ${rank}, ${featureTitle(model, rank)}: |λ| = ${size}${when}${ends}`;
  };
  const sizes = eigenvalues.map(Math.abs);
  const dots = (negative) => {
    const ranks = [...sizes.keys()].filter((k) => eigenvalues[k] < 0 === negative).map((k) => k + 1);
    const y = ranks.map((rank) => sizes[rank - 1]);
    return { kind: "dots", x: ranks, y, colour: negative ? "warm" : "cool", names: ranks.map(nameOf) };
  };
  const [low, high] = [0.85 * Math.min(...sizes), 1.15 * Math.max(...sizes)];
  return drawChart(element, {
    label: "Eigenvalues of all features, the largest first",
    height,
    x: { title: "feature, in order of its eigenvalue", low: 0.9, high: 1.1 * sizes.length, log: true },
    y: { title: "eigenvalue |λ|", low, high, log: true },
    layers: [dots(false), dots(true)],
  });
}

export const SPECTRUM_NOTE =
  "Each dot is a feature: the higher it is, the more of the text it explains, and the sooner training would learn it. Point at a dot, or press it, to see its words. Orange dots have a negative eigenvalue: words at one end occur near words of the other end rather than near those of their own.";

export function featureView(element, app) {
  const { model } = app;
  const closed = model.featureSpace.run;
  const cards = make("div.cards");
  const plain = { autocapitalize: "none", spellcheck: false, oninput: () => show() };
  const search = make("input", { type: "search", placeholder: "word or name", ...plain });
  const hide = make("input", { type: "checkbox", checked: true, onchange: () => show() });
  const said = make("span.said", { role: "status" });
  const more = button("Show more features", () => {
    count += CARDS;
    show();
  });
  let count = CARDS;
  const spectrum = make("div.chart");
  element.append(
    intro(
      closed ? "Features" : "Axes",
      closed
        ? "A feature is a direction along which the closed form distinguishes words: an eigenvector of its matrix. The first features explain most of the text and are learned first. The number beside a word is its cosine with the feature. It does not matter which end is positive."
        : "These vectors came without a closed form. Their principal axes take the place of features.",
    ),
    make("div.controls", labelled("Search", search), labelled("Hide features of general words", hide), said),
    cards,
    make("div.save", more),
    make("h2", "The spectrum"),
    note(SPECTRUM_NOTE),
    spectrum,
    saveButtons({
      name: "features",
      drawing: () => drawingsIn(spectrum),
      table: () => [
        ["feature", "name", "eigenvalue", "share", "learned at t/τ₁", "words", "one end", "other end"],
        ...model.features.map((one) => [
          one.rank,
          featureTitle(model, one.rank),
          one.eigenvalue,
          one.share,
          one.time,
          one.participation,
          firstWords(one.positive, 10),
          firstWords(one.negative, 10),
        ]),
      ],
    }),
  );

  function show() {
    const wanted = search.value.trim().toLowerCase();
    const has = ({ name, positive, negative }) =>
      name.toLowerCase().includes(wanted) ||
      [...positive, ...negative].some(({ word }) => word.toLowerCase().startsWith(wanted));
    const hidden = model.features.filter((one) => hide.checked && one.general).length;
    const fitting = model.features.filter((one) => has(one) && !(hide.checked && one.general));
    cards.replaceChildren(...fitting.slice(0, count).map((feature) => featureCard(app, feature)));
    const kind = hidden ? `; ${hidden} of general words, which say how sentences are built, are hidden` : "";
    said.textContent = `${fitting.length} of ${model.features.length}${kind}`;
    more.hidden = fitting.length <= count;
  }

  const redraw = () => drawSpectrum(spectrum, model, 340);
  return {
    show(parameters) {
      search.value = parameters.get("find") ?? "";
      show();
      redraw();
    },
    redraw,
  };
}

// A card of a feature, titled by words.
export function featureCard(app, feature) {
  const { model } = app;
  const { rank } = feature;
  const heading = make("h3", featureTitle(model, rank));
  const { eigenvalue, learning_time: learned, time } = feature;
  const facts = [
    `feature ${rank}`,
    `${percent(feature.share, 1)} of the spectrum`,
    `λ = ${signed(eigenvalue, Math.abs(eigenvalue) < 100 ? 2 : 1)}`,
    `carried by ${formatCount(feature.participation)} words`,
    time === null ? "" : `learned at t = ${Number(learned.toPrecision(3))}, which is ${time.toFixed(2)} τ₁`,
  ].filter(Boolean);
  const end = (side) => {
    const found = feature[side];
    return make(
      "div",
      { className: side },
      make(
        "ol",
        ...found.map(({ word, cosine }) =>
          make("li", wordButton(word, app.follow), make("span.cosine", Math.abs(cosine).toFixed(2))),
        ),
      ),
      found.length ? null : note("No frequent word lies at this end: nearly all words lie at the other."),
    );
  };
  // The end with the words of the title comes first; which one is positive has no meaning.
  const sides = ["positive", "negative"];
  if (feature.title.startsWith(firstWords(feature.negative, 1)) && feature.negative.length) sides.reverse();
  const said = make("span.said", { role: "status" });
  const field = make("input", {
    type: "text",
    value: feature.name,
    maxLength: 80,
    placeholder: "give it a name",
    "aria-label": `Name of feature ${rank}`,
  });
  const fill = filler(said);
  const keep = (event) => {
    event.preventDefault();
    return fill(ask("name", { model: model.number, rank, name: field.value.trim() }), ({ name }) => {
      feature.name = name;
      heading.textContent = featureTitle(model, rank);
      return [name ? "Name kept with the model." : "Name removed."];
    });
  };
  const other = rank === 1 ? Math.min(2, model.featureSpace.dim) : 1;
  return make(
    "article.card",
    { "data-rank": String(rank) },
    heading,
    make("p.facts", ...facts.flatMap((fact, i) => [i ? " · " : "", make("span.item", fact)])),
    make("div.ends", ...sides.map(end)),
    make(
      "div.save",
      button("On the map", () => app.go("map", { by: "features", x: rank, y: other }), {
        "aria-label": `Show feature ${rank} on the map`,
      }),
    ),
    model.can_name
      ? make("form.naming", { onsubmit: keep }, field, make("button", { type: "submit" }, "Keep"), said)
      : null,
  );
}
