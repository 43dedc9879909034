// What the colour of a word on the map says, and its legend.

import { picture, shape, svgText } from "./charts.js";
import { matrix } from "./data.js";
import { chip, formatCount, make } from "./dom.js";
import { featureTitle, firstWords } from "./features.js";
import { colour, paintAll, parseRgb, scaleOf, topicColour } from "./theme.js";

const LINE = 20; // pixels: the height of a line of a legend
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
    const column = await model.featureSpace.column(rank - 1);
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
  const scale = scaleOf(diverging);
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
  const legend = make("div.legend", make("span", title), ramp);
  return { colours, legend, key: { title, ends, stops: scale.stops } };
}

function byTopic(model, pick) {
  const [general, faint] = [parseRgb(colour("faint")), [...parseRgb(colour("faint")), QUIET_ALPHA]];
  const rgb = model.topics.map((topic) => (topic.general ? general : parseRgb(topicColour(topic))));
  const colours = paintAll(model.words.length, (row) => rgb[model.labels[row]] ?? faint, ALPHA);
  let picked = -1;
  const chips = model.topics.map((topic, id) => {
    const dot = make("span.dot", { "aria-hidden": "true" });
    dot.style.background = topicColour(topic);
    const onclick = () => {
      picked = picked === id ? -1 : id;
      chips.forEach((each, i) => each.setAttribute("aria-pressed", String(i === picked)));
      const rows = [...model.labels.keys()].filter((row) => model.labels[row] === id);
      pick(picked < 0 ? null : new Set(rows));
    };
    const title = `${formatCount(topic.size)} words: ${topic.words.join(", ")}`;
    return chip([dot, topic.title], onclick, { title, "aria-pressed": "false" });
  });
  const said = make("span", `Topics: press one to see it alone. ${paleDots(model)}`);
  const legend = make("div.legend", said, make("span.chips", ...chips));
  const groups = model.topics.map((topic) => [topic.title, topicColour(topic)]);
  return { colours, legend, key: { title: `Topics. ${paleDots(model)}`, groups } };
}

// What the dots of a map without a colour are.
export function paleDots(model) {
  const some = model.words.filter((_, row) => !model.topicOf(row)).slice(0, 3);
  return [
    some.length ? `Pale dots are function words, such as “${some.join("”, “")}”.` : "",
    model.topics.some(({ general }) => general) ? "Grey dots are words that say little about the text." : "",
  ].join(" ");
}

// The value below which a part of all numbers are.
function quantileOf(values, part) {
  const known = values.filter(Number.isFinite).sort();
  return known.length ? known[Math.min(known.length - 1, Math.floor(part * known.length))] : 1;
}

// The legend of a saved map: what its axes and its colours are.
export function legendPicture({ title, ends, stops = [], groups = [] }, axes, width) {
  const columns = Math.max(1, Math.floor(width / 270));
  const lines = [...axes.filter(Boolean), title];
  const top = LINE * lines.length;
  const height = top + LINE * (Math.ceil(groups.length / columns) + (ends ? 1 : 0)) + 8;
  const svg = picture(width, height, "Legend");
  const write = (text, x, y, more = {}) =>
    svg.append(svgText(text, { x, y, fill: colour("ink"), "font-size": 13, ...more }));
  lines.forEach((line, i) => write(line, 6, LINE * (i + 0.8)));
  groups.forEach(([name, fill], i) => {
    const [x, y] = [6 + 270 * (i % columns), top + LINE * (Math.floor(i / columns) + 0.8)];
    svg.append(shape("circle", { cx: x + 5, cy: y - 4, r: 5, fill }));
    write(name, x + 16, y);
  });
  if (!ends) return svg;
  write(ends[0], 110, top + LINE * 0.7, { "text-anchor": "end" });
  stops.forEach((fill, i) =>
    svg.append(shape("rect", { x: 116 + 30 * i, y: top + 3, width: 30, height: 12, fill })),
  );
  write(ends[1], 122 + 30 * stops.length, top + LINE * 0.7);
  return svg;
}
