// The figures of the page: each is drawn again in other colours, at another width, and for paper.

import { drawChart } from "./components/chart.js";

const PAPER_WIDTH = 660; // pixels: what A4 and Letter have between ordinary margins
const drawn = [];
let printing = false;

// Draw a figure now and whenever it has to look different.
export function addFigure(id, draw) {
  const element = document.getElementById(id);
  const again = () => draw(element);
  drawn.push(again);
  again();
  return again;
}

export function drawFigure(element, chart) {
  return drawChart(element, { ...chart, width: figureWidth(element) });
}

export function figureWidth(element) {
  return printing ? PAPER_WIDTH : element.clientWidth;
}

export function redrawFigures(forPaper) {
  printing = forPaper;
  for (const draw of drawn) draw();
}

let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return; // a telephone's bars come and go
  lastWidth = innerWidth;
  redrawFigures(printing);
});
