// Colours of points: by a number or by a group.

/** @typedef {[number, number, number]} Rgb */

const SEQUENCE = {
  light: ["#c9d3e6", "#8fb0d8", "#4d86c4", "#23589b", "#0f2f63"],
  dark: ["#34415a", "#44669a", "#5f92d6", "#9cc4f7", "#e3f0ff"],
};
const DIVERGING = {
  light: ["#a8420f", "#d98a5c", "#cfcdc8", "#6f9bd6", "#1d4f9c"],
  dark: ["#ffab6b", "#b5713f", "#4a4d55", "#4d7fc4", "#9cc6ff"],
};
const GROUPS = {
  light: [
    "#2b5fad",
    "#c2571a",
    "#2e8b57",
    "#8e4fb3",
    "#b3872a",
    "#1d8aa0",
    "#c2407e",
    "#6b7a1e",
    "#7a5a44",
    "#4f59c9",
    "#d0453b",
    "#4b6472",
  ],
  dark: [
    "#8db6f5",
    "#f0a368",
    "#7fd3a2",
    "#cda2ec",
    "#e6c66a",
    "#74cfe2",
    "#f297c2",
    "#c3d16b",
    "#cfae96",
    "#aab1ff",
    "#ff9b91",
    "#a9c0cd",
  ],
};

/** @param {string} hex @returns {Rgb} */
function rgb(hex) {
  return /** @type {Rgb} */ ([1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
}

/**
 * @param {string[]} stops
 * @param {number} part from 0 to 1
 * @returns {Rgb}
 */
function between(stops, part) {
  const place = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const before = Math.min(stops.length - 2, Math.floor(place));
  const [low, high] = [rgb(stops[before]), rgb(stops[before + 1])];
  return /** @type {Rgb} */ (
    low.map((value, i) => Math.round(value + (high[i] - value) * (place - before)))
  );
}

/**
 * A scale for numbers from 0 to 1, or from −1 to 1 if it diverges.
 * @param {boolean} dark
 * @param {boolean} diverging
 */
export function scaleOf(dark, diverging) {
  const stops = (diverging ? DIVERGING : SEQUENCE)[dark ? "dark" : "light"];
  const table = Array.from({ length: 256 }, (_, i) => between(stops, i / 255));
  return {
    gradient: `linear-gradient(90deg, ${stops.join(", ")})`,
    stops,
    /** @param {number} value @returns {Rgb} */
    at: (value) =>
      table[Math.round(255 * Math.min(1, Math.max(0, diverging ? (value + 1) / 2 : value)))],
  };
}

/**
 * @param {boolean} dark
 * @param {number} group
 */
export function groupColour(dark, group) {
  const colours = GROUPS[dark ? "dark" : "light"];
  return colours[group % colours.length];
}

/**
 * @param {number} count
 * @param {(row: number) => Rgb | null} colourAt null for a word without a number
 * @param {Rgb} none
 * @param {number} alpha
 */
export function paintAll(count, colourAt, none, alpha) {
  const colours = new Uint8Array(4 * count);
  for (let row = 0; row < count; row++) {
    const [red, green, blue] = colourAt(row) ?? none;
    colours[4 * row] = red;
    colours[4 * row + 1] = green;
    colours[4 * row + 2] = blue;
    colours[4 * row + 3] = alpha;
  }
  return colours;
}

/**
 * @param {boolean} dark
 * @param {number} group
 * @returns {Rgb}
 */
export function groupRgb(dark, group) {
  return rgb(groupColour(dark, group));
}

/**
 * A computed colour, rgb(…), as three numbers.
 * @param {string} text
 * @returns {Rgb}
 */
export function parseRgb(text) {
  const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}
