// The look of all figures, taken from the style sheet, so that light and dark are chosen once.

const PAPER_WIDTH = 660; // pixels: what A4 and Letter have between ordinary margins
const FONT = "system-ui, sans-serif";
const figures = []; // { element, draw }: every figure can be drawn again in other colours
let printing = false;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Words may hold anything; in figures Plotly reads a little HTML, and must not read it in them.
function plain(word) {
  return word.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function figureWidth(element) {
  return printing ? PAPER_WIDTH : element.clientWidth;
}

function axis(title, more = {}) {
  return {
    title: { text: title, standoff: 12, font: { size: 13 } },
    gridcolor: colour("rule"),
    zerolinecolor: colour("rule"),
    linecolor: colour("rule"),
    tickcolor: colour("rule"),
    automargin: true,
    fixedrange: true,
    ...more,
  };
}

function layout(more) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: FONT, size: 12, color: colour("muted") },
    margin: { l: 52, r: 16, t: 16, b: 48 },
    hoverlabel: {
      bgcolor: colour("card"),
      bordercolor: colour("rule"),
      font: { family: FONT, color: colour("ink"), size: 13 },
      align: "left",
    },
    showlegend: false,
    autosize: !printing,
    width: printing ? PAPER_WIDTH : undefined,
    ...more,
  };
}

const CONFIG = { displayModeBar: false, responsive: true };

function addFigure(id, draw) {
  const element = document.getElementById(id);
  const figure = { element, draw: () => draw(element) };
  figures.push(figure);
  figure.draw();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const button = document.getElementById("theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  for (const figure of figures) figure.draw();
}

function startThemes() {
  document.getElementById("theme").addEventListener("click", () => {
    setTheme(isDark() ? "light" : "dark");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    setTheme(document.documentElement.dataset.theme);
  });
  let before; // paper is white and narrow: draw for it, then go back to what was chosen
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    printing = true;
    setTheme("light");
  });
  addEventListener("afterprint", () => {
    printing = false;
    setTheme(before);
  });
  setTheme(document.documentElement.dataset.theme);
}
