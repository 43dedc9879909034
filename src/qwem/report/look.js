// The look of all figures. Colours come from the style sheet, which knows the light and dark themes.

import { colour } from "./components/theme.js";

const PAPER_WIDTH = 660; // pixels: what A4 and Letter have between ordinary margins
const FONT = "system-ui, sans-serif";
export const figures = []; // { element, draw }: to draw every figure again in other colours
let printing = false;

// A word as Plotly may show it: Plotly reads some HTML, and words may contain anything.
export function plain(word) {
  return word.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function figureWidth(element) {
  return printing ? PAPER_WIDTH : element.clientWidth;
}

export function axis(title, more = {}) {
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

export function layout(more) {
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

export const CONFIG = { displayModeBar: false, responsive: true };

export function addFigure(id, draw) {
  const element = document.getElementById(id);
  const figure = { element, draw: () => draw(element) };
  figures.push(figure);
  figure.draw();
}

export function redrawFigures(forPaper) {
  printing = forPaper;
  for (const figure of figures) figure.draw();
}
