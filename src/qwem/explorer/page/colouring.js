// What the colour of a word on the map says, and its legend.

import { colour, isDark } from "./components/theme.js";
import { make } from "./dom.js";
import { groupColour, groupRgb, paintAll, parseRgb, scaleOf } from "./palette.js";

/** @typedef {import("./main.js").App} App */

/**
 * Colours of all words, and an explanation of them.
 * @typedef {{ colours: Uint8Array, legend: HTMLElement }} Colouring
 */

const ALPHA = 205;

/**
 * The choices for a model: value and text.
 * @param {App} app
 * @returns {[string, string][]}
 */
export function colourChoices(app) {
  /** @type {[string, string][]} */
  const choices = [
    ["frequency", "frequency"],
    ["feature", "a feature"],
    ["cluster", "cluster"],
  ];
  if (app.model.spaces.some(({ time }) => time)) choices.push(["learned", "time of learning"]);
  if (app.compare && app.source.canAsk) choices.push(["moved", "distance between two models"]);
  return choices;
}

/**
 * @param {App} app
 * @param {string} by one of the choices
 * @param {number} rank of the feature, if the colour is that of a feature
 * @param {(rows: Set<number> | null) => void} pick called with the words of a group that was clicked
 * @returns {Promise<Colouring>}
 */
export async function colouring(app, by, rank, pick) {
  if (by === "feature") {
    const column = await app.source.coordinates(app.model.id, rank, app.space.space);
    const largest = quantileOf(column.map(Math.abs), 0.995);
    const { name, negative, positive } = app.features[rank - 1] ?? {};
    const title = name ? `Feature ${rank}: ${name}` : `Feature ${rank}`;
    /** @type {[string, string]} */
    const ends = [negative?.[0]?.word ?? "one end", positive?.[0]?.word ?? "the other end"];
    return numbered(app, column, -largest, largest, title, ends, true);
  }
  if (by === "cluster") return grouped(app, pick);
  if (by === "learned") {
    const times = await app.source.learned(app.model.id);
    const [low, high] = [quantileOf(times, 0.01), quantileOf(times, 0.99)];
    return numbered(app, times, low, high, "When the word’s vector is half grown, in units of τ₁", [
      low.toFixed(2),
      high.toFixed(2),
    ]);
  }
  if (by === "moved") {
    const other = app.models.find((model) => model !== app.model) ?? app.model;
    const distances = await app.source.distances(app.model.id, other.id);
    const high = quantileOf(distances, 0.99);
    return numbered(app, distances, 0, high, `Distance from the same word in ${other.name}`, [
      "0",
      high.toFixed(2),
    ]);
  }
  const ranks = Float32Array.from(app.words, (_, row) => -Math.log10(row + 1));
  const last = -Math.log10(Math.max(2, app.words.length));
  return numbered(app, ranks, last, 0, "How often the word occurs", ["rare", "frequent"]);
}

/**
 * @param {App} app
 * @param {Float32Array} values
 * @param {number} low
 * @param {number} high
 * @param {string} title
 * @param {[string, string]} ends
 */
function numbered(app, values, low, high, title, ends, diverging = false) {
  const scale = scaleOf(isDark(), diverging);
  const none = parseRgb(colour("faint"));
  const span = high - low || 1;
  const place = (/** @type {number} */ value) =>
    diverging ? value / (high || 1) : (value - low) / span;
  const colours = paintAll(
    app.words.length,
    (row) => (Number.isFinite(values[row]) ? scale.at(place(values[row])) : null),
    none,
    ALPHA,
  );
  const strip = make("span", { className: "strip", "aria-hidden": "true" });
  strip.style.background = scale.gradient;
  const legend = make(
    "div",
    { className: "legend" },
    make("span", { className: "what", textContent: title }),
    make(
      "span",
      { className: "ramp" },
      make("span", { textContent: ends[0] }),
      strip,
      make("span", { textContent: ends[1] }),
    ),
  );
  return { colours, legend };
}

/**
 * @param {App} app
 * @param {(rows: Set<number> | null) => void} pick
 */
async function grouped(app, pick) {
  const { clusters, labels } = await app.source.clusters(app.model.id, app.space.space);
  const dark = isDark();
  const colours = paintAll(
    app.words.length,
    (row) => groupRgb(dark, labels[row]),
    [128, 128, 128],
    ALPHA,
  );
  let picked = -1;
  const chips = clusters.map(({ id, size, words }) => {
    const dot = make("span", { className: "dot", "aria-hidden": "true" });
    dot.style.background = groupColour(dark, id);
    const chip = make(
      "button",
      {
        type: "button",
        className: "chip",
        title: `${size.toLocaleString("en")} words: ${words.join(", ")}`,
        "aria-pressed": "false",
        onclick: () => {
          picked = picked === id ? -1 : id;
          for (const other of chips)
            other.setAttribute("aria-pressed", String(other === chip && picked === id));
          const rows = new Set(/** @type {number[]} */ ([]));
          labels.forEach((label, row) => label === id && rows.add(row));
          pick(picked === id ? rows : null);
        },
      },
      dot,
      words.slice(0, 3).join(", "),
    );
    return chip;
  });
  const legend = make(
    "div",
    { className: "legend" },
    make("span", {
      className: "what",
      textContent: "Clusters of similar words. Press one to see it alone.",
    }),
    make("span", { className: "chips" }, ...chips),
  );
  return { colours, legend };
}

/**
 * The value below which a part of all numbers are.
 * @param {Float32Array} values
 * @param {number} part
 */
export function quantileOf(values, part) {
  const known = values.filter(Number.isFinite).sort();
  return known.length ? known[Math.min(known.length - 1, Math.floor(part * known.length))] : 1;
}
