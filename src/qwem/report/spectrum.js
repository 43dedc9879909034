// The spectrum: one point for each feature, with its words under the pointer.

import { colour } from "./components/theme.js";
import { CONFIG, addFigure, axis, layout, plain } from "./look.js";

export const ROUND = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

export function startSpectrum(report) {
  const ranks = report.eigenvalues.map((_, k) => k + 1);
  const sizes = report.eigenvalues.map(Math.abs);
  const times = report.learningTimes.map((time) => time / report.unit);
  const words = ranks.map((rank, k) => {
    const ends = report.features[k];
    const sign = report.eigenvalues[k] < 0 ? "  (negative)" : "";
    const head = `<b>Feature ${rank}</b>${sign}<br>learned at ${times[k].toFixed(2)} τ₁`;
    if (!ends) return head;
    const lines = ends.map((end) => end.slice(0, 6).map(plain).join(", "));
    return `${head}<br>+ ${lines[0]}<br>− ${lines[1]}`;
  });
  addFigure("spectrum", (element) => {
    const colours = report.eigenvalues.map((value) => colour(value < 0 ? "warm" : "cool"));
    Plotly.react(
      element,
      [
        {
          x: ranks,
          y: sizes,
          text: words,
          hovertemplate: "%{text}<br>|λ| = %{y:,.4~g}<extra></extra>",
          mode: "markers",
          marker: { size: 7, color: colours, opacity: 0.85 },
        },
      ],
      layout({
        height: 380,
        hovermode: "closest",
        xaxis: axis("feature, in the order of learning", {
          type: "log",
          tickvals: ROUND,
          range: [-0.06, Math.log10(ranks.length) + 0.06],
        }),
        yaxis: axis("eigenvalue |λ|", { type: "log", dtick: "D2", tickformat: ",~r" }),
      }),
      CONFIG,
    );
  });
}
