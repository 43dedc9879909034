// The spectrum of the model, with the words of each feature under the pointer.

import { spectrumChart } from "./components/spectrum.js";
import { addFigure, drawFigure } from "./figures.js";

export function startSpectrum(report) {
  const nameOf = (rank) => {
    const value = report.eigenvalues[rank - 1];
    const time = (report.learningTimes[rank - 1] / report.unit).toFixed(2);
    const size = Number(Math.abs(value).toPrecision(4)).toLocaleString("en");
    const name = report.names[rank - 1] ? `, ${report.names[rank - 1]}` : "";
    const head = `Feature ${rank}${name}${value < 0 ? " (negative)" : ""}: |λ| = ${size}, learned at ${time} τ₁`;
    const [positive, negative] = (report.features[rank - 1] ?? []).map((end) =>
      end.slice(0, 6).join(", "),
    );
    return positive === undefined ? head : `${head}\n+ ${positive}\n− ${negative}`;
  };
  const chart = spectrumChart(report.eigenvalues, nameOf, 380);
  addFigure("spectrum", (element) => drawFigure(element, chart));
}
