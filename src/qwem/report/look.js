// The look of all figures. Colours come from the style sheet, which knows the light and dark themes.

const PAPER_WIDTH = 660; // pixels: what A4 and Letter have between ordinary margins
const FONT = "system-ui, sans-serif";
const figures = []; // { element, draw }: to draw every figure again in other colours
let printing = false;

// A hidden element whose colour the browser computes: the value of a variable is light-dark(…).
const probe = document.body.appendChild(document.createElement("span"));
probe.hidden = true;

function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// A word as Plotly may show it: Plotly reads some HTML, and words may contain anything.
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
  let before; // paper is white and narrow: draw for it, then return to the chosen theme
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
