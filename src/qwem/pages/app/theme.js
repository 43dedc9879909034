// Light and dark colours: the system's choice, a button to change it, and white paper for printing.

// A hidden element whose colour the browser computes: the value of a variable is light-dark(…).
const probe = document.body.appendChild(document.createElement("span"));
probe.hidden = true;

const asked = new Map();

// The present colour of that name in the style sheet.
export function colour(name) {
  let found = asked.get(name);
  if (found === undefined) {
    probe.style.color = `var(--${name})`;
    found = getComputedStyle(probe).color;
    asked.set(name, found);
  }
  return found;
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// Connect the button `#theme`, and call `redraw` whenever colours have changed.
export function startThemes(redraw) {
  const button = document.getElementById("theme");
  const setTheme = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    asked.clear();
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    redraw();
  };
  button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    setTheme(document.documentElement.dataset.theme);
  });
  let before; // paper is white and narrow: draw for it, then return to the chosen theme
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    setTheme("light");
  });
  addEventListener("afterprint", () => setTheme(before));
  setTheme(document.documentElement.dataset.theme);
}

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

function between(stops, part) {
  const place = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const before = Math.min(stops.length - 2, Math.floor(place));
  const [low, high] = [stops[before], stops[before + 1]].map(parseRgb);
  return low.map((value, i) => Math.round(value + (high[i] - value) * (place - before)));
}

// A scale for numbers from 0 to 1, or from −1 to 1 if it diverges.
export function scaleOf(diverging = false) {
  const stops = (diverging ? DIVERGING : SEQUENCE)[isDark() ? "dark" : "light"];
  const shades = Array.from({ length: 256 }, (_, i) => between(stops, i / 255));
  return {
    gradient: `linear-gradient(90deg, ${stops.join(", ")})`,
    stops,
    at: (value) => shades[Math.round(255 * Math.min(1, Math.max(0, diverging ? (value + 1) / 2 : value)))],
  };
}

// The colour of a topic; general ones are grey.
export function topicColour({ general, colour: group }) {
  const colours = GROUPS[isDark() ? "dark" : "light"].split(" ");
  return general ? colour("faint") : colours[group % colours.length];
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

// A colour, rgb(…) or #rrggbb, as three numbers.
export function parseRgb(text) {
  if (text.startsWith("#")) return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  return text
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);
}

// Names of what is drawn, for touch screens: a mouse shows them as tooltips.

const FINGER = 18; // pixels from a finger to a dot

// Show the name of the dot, line or bar that was pressed, until something else is pressed.
export function startTips() {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "chart-tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  for (const event of ["scroll", "hashchange"]) addEventListener(event, () => (tip.hidden = true), true);
  document.addEventListener("click", (event) => {
    const { target, clientX, clientY, pageX, pageY } = event;
    const chart = target instanceof SVGElement ? target.closest(".chart svg") : null;
    const named = chart && target instanceof Element && titleOf(target);
    const name = chart && (named || nearestName(chart, clientX, clientY));
    tip.hidden = !name;
    if (!name) return;
    tip.textContent = name;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(pageX + 8, room))}px`;
    tip.style.top = `${pageY + 12}px`;
  });
}

function titleOf(element) {
  return element.querySelector(":scope > title")?.textContent ?? "";
}

// The name of the dot that is nearest to a place on the screen, if one is near.
function nearestName(chart, x, y) {
  let [name, least] = ["", FINGER];
  for (const dot of chart.querySelectorAll("circle")) {
    const box = dot.getBoundingClientRect();
    const distance = Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
    if (distance < least && titleOf(dot)) [name, least] = [titleOf(dot), distance];
  }
  return name;
}
