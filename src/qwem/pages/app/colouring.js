// What the colour of a word on the map says, and its legend.

import { matrix } from "./data.js";
import { make, whole } from "./dom.js";
import { featureTitle, firstWords } from "./features.js";
import { colour, groupColour, groupRgb, isDark, paintAll, parseRgb, scaleOf } from "./theme.js";

const ALPHA = 205;
const QUIET_ALPHA = 60;

// The choices for a model: value and text.
export function colourChoices({ model, page }) {
  const choices = [
    ["topic", "topic"],
    ["frequency", "frequency"],
    ["feature", "a feature"],
  ];
  if (model.has("learned")) choices.push(["learned", "time of learning"]);
  if (page.models.length > 1 && model.number === 0) choices.push(["moved", "distance between two models"]);
  return choices;
}

// Colours of all words and a legend; `pick` is called with the words of a topic that was pressed.
export async function colouring({ model, page }, by, rank, pick) {
  if (by === "feature") {
    const column = (await model.featureSpace.rows()).column(rank - 1);
    const most = quantileOf(column.map(Math.abs), 0.995);
    const { negative, positive } = model.features[rank - 1];
    const ends = [firstWords(negative, 1) || "one end", firstWords(positive, 1) || "the other"];
    return numbered(model, column, -most, most, featureTitle(model, rank), ends, true);
  }
  if (by === "learned") {
    const times = (await model.matrix("learned")).column(0);
    const [low, high] = [quantileOf(times, 0.01), quantileOf(times, 0.99)];
    const title = "When the word’s vector is half grown, in units of τ₁";
    return numbered(model, times, low, high, title, [low.toFixed(2), high.toFixed(2)]);
  }
  if (by === "moved") {
    const distances = (await matrix("distances/0-1")).column(0);
    const high = quantileOf(distances, 0.99);
    const title = `Distance from the same word in ${page.models[1].name}`;
    return numbered(model, distances, 0, high, title, ["0", high.toFixed(2)]);
  }
  if (by === "frequency") {
    const ranks = Float32Array.from(model.words, (_, row) => -Math.log10(row + 1));
    const last = -Math.log10(Math.max(2, model.words.length));
    return numbered(model, ranks, last, 0, "How often the word occurs", ["rare", "frequent"]);
  }
  return byTopic(model, pick);
}

function numbered(model, values, low, high, title, ends, diverging = false) {
  const scale = scaleOf(isDark(), diverging);
  const none = parseRgb(colour("faint"));
  const place = (value) => (diverging ? value / (high || 1) : (value - low) / (high - low || 1));
  const colours = paintAll(
    model.words.length,
    (row) => (Number.isFinite(values[row]) ? scale.at(place(values[row])) : none),
    ALPHA,
  );
  const strip = make("span.strip", { "aria-hidden": "true" });
  strip.style.background = scale.gradient;
  const ramp = make("span.ramp", make("span", ends[0]), strip, make("span", ends[1]));
  return { colours, legend: make("div.legend", make("span", title), ramp) };
}

function byTopic(model, pick) {
  const dark = isDark();
  const rgb = model.topics.map(({ colour: group }) => groupRgb(dark, group));
  const quiet = parseRgb(colour("faint"));
  const colours = paintAll(
    model.words.length,
    (row) => (row < model.quiet ? [...quiet, QUIET_ALPHA] : rgb[model.labels[row]]),
    ALPHA,
  );
  let picked = -1;
  const chips = model.topics.map(({ title, size, words, colour: group }, id) => {
    const dot = make("span.dot", { "aria-hidden": "true" });
    dot.style.background = groupColour(dark, group);
    const onclick = () => {
      picked = picked === id ? -1 : id;
      chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === picked)));
      const rows = new Set();
      model.labels.forEach((label, row) => label === id && row >= model.quiet && rows.add(row));
      pick(picked < 0 ? null : rows);
    };
    const about = `${whole(size)} words: ${words.join(", ")}`;
    return make(
      "button.chip",
      { type: "button", title: about, "aria-pressed": "false", onclick },
      dot,
      title,
    );
  });
  const said = make("span", "Topics: press one to see it alone. Pale dots are function words.");
  return { colours, legend: make("div.legend", said, make("span.chips", ...chips)) };
}

// The value below which a part of all numbers are.
function quantileOf(values, part) {
  const known = values.filter(Number.isFinite).sort();
  return known.length ? known[Math.min(known.length - 1, Math.floor(part * known.length))] : 1;
}
