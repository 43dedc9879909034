// Colours of points: by a number or by a group.

const SEQUENCE = {
  light: ["#c9d3e6", "#8fb0d8", "#4d86c4", "#23589b", "#0f2f63"],
  dark: ["#34415a", "#44669a", "#5f92d6", "#9cc4f7", "#e3f0ff"],
};
const DIVERGING = {
  light: ["#a8420f", "#d98a5c", "#cfcdc8", "#6f9bd6", "#1d4f9c"],
  dark: ["#ffab6b", "#b5713f", "#4a4d55", "#4d7fc4", "#9cc6ff"],
};
const GROUPS = {
  light: "#2b5fad #c2571a #2e8b57 #8e4fb3 #a87a16 #1d8aa0 #c2407e #6b7a1e #7a5a44 #4f59c9 #d0453b #4b6472",
  dark: "#8db6f5 #f0a368 #7fd3a2 #cda2ec #e6c66a #74cfe2 #f297c2 #c3d16b #cfae96 #aab1ff #ff9b91 #a9c0cd",
};

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function between(stops, part) {
  const place = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const before = Math.min(stops.length - 2, Math.floor(place));
  const [low, high] = [rgb(stops[before]), rgb(stops[before + 1])];
  return low.map((value, i) => Math.round(value + (high[i] - value) * (place - before)));
}

// A scale for numbers from 0 to 1, or from −1 to 1 if it diverges.
export function scaleOf(dark, diverging) {
  const stops = (diverging ? DIVERGING : SEQUENCE)[dark ? "dark" : "light"];
  const shades = Array.from({ length: 256 }, (_, i) => between(stops, i / 255));
  return {
    gradient: `linear-gradient(90deg, ${stops.join(", ")})`,
    stops,
    at: (value) => shades[Math.round(255 * Math.min(1, Math.max(0, diverging ? (value + 1) / 2 : value)))],
  };
}

export function groupColour(dark, group) {
  const colours = GROUPS[dark ? "dark" : "light"].split(" ");
  return colours[group % colours.length];
}

// Red, green, blue and alpha of every word; `colourAt` returns the first three and maybe the last.
export function paintAll(count, colourAt, alpha) {
  const colours = new Uint8Array(4 * count);
  for (let row = 0; row < count; row++) {
    const [red, green, blue, own = alpha] = colourAt(row);
    colours.set([red, green, blue, own], 4 * row);
  }
  return colours;
}

export function groupRgb(dark, group) {
  return rgb(groupColour(dark, group));
}

// A computed colour, rgb(…), as three numbers.
export function parseRgb(text) {
  const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}
