// Charts of training: the strength of features and the loss over time, with a trained run beside them.

import { drawChart, drawMarks } from "./components/chart.js";
import { lossAt } from "./components/dynamics.js";
import { strengthLines, strengthMarks } from "./components/strengths.js";
import { weightAt } from "./embedded.js";

const CURVES = 16; // features whose growth is drawn
const GRID = 160;

/**
 * @param {Element} strengths where the strengths are drawn
 * @param {Element} losses where the loss is drawn
 * @param {import("./source.js").Space} space a closed form
 * @param {number} end the last time
 */
export function trainingCharts(strengths, losses, space, end) {
  const { eigenvalues, start, rates, unit } = space;
  const run = { eigenvalues, start: start ?? [], rates: rates ?? [] };
  const curves = Math.min(CURVES, space.dim);
  const across = { title: "training time, t/τ₁", low: 0, high: end };
  const strength = (/** @type {number} */ k, /** @type {number} */ t) => weightAt(space, k, t);
  const loss = (/** @type {number} */ t, /** @type {number} */ d) => lossAt(run, t * (unit ?? 1), d);
  /** @type {ReturnType<typeof drawChart>[]} strengths and loss */
  let charts = [];

  /**
   * @param {{ d: number, x: number, y: number, t: number }} state
   * @param {import("./source.js").Trace | null} trace
   */
  function draw(state, trace) {
    charts = [drawStrengths(state, trace), drawLoss(state, trace)];
    mark(state);
  }

  /**
   * @param {{ d: number, x: number, y: number }} state
   * @param {import("./source.js").Trace | null} trace
   */
  function drawStrengths({ d, x, y }, trace) {
    const count = Math.min(curves, d);
    const chosen = (/** @type {number} */ k) => (k + 1 === x ? "cool" : k + 1 === y ? "warm" : null);
    /** @type {import("./components/chart.js").Layer[]} */
    const layers = strengthLines(count, end, strength, chosen, (k) => `Feature ${k + 1}`);
    if (trace?.times && trace.singular_values) {
      const { times } = trace;
      for (let k = 0; k < Math.min(count, trace.singular_values[0]?.length ?? 0); k++) {
        const values = trace.singular_values.map((row) => row[k]);
        layers.push({ kind: "dots", x: times, y: values, colour: "ink", size: 1.8 });
      }
    }
    const top = 1.06 * Math.sqrt(Math.max(...eigenvalues.slice(0, curves).map(Math.abs)));
    return drawChart(strengths, {
      label: `Strength of the first ${count} features over training time`,
      height: 260,
      x: across,
      y: { title: "strength s", low: 0, high: top },
      layers,
    });
  }

  /**
   * @param {{ d: number }} state
   * @param {import("./source.js").Trace | null} trace
   */
  function drawLoss({ d }, trace) {
    const grid = Array.from({ length: GRID + 1 }, (_, i) => (end * i) / GRID);
    const values = grid.map((t) => loss(t, d));
    /** @type {import("./components/chart.js").Layer[]} */
    const layers = [
      { kind: "line", x: grid, y: values, colour: "cool", width: 2.5, name: "closed form" },
    ];
    if (trace?.times && trace.losses)
      layers.push({ kind: "dots", x: trace.times, y: trace.losses, colour: "ink", size: 1.8 });
    return drawChart(losses, {
      label: "Loss over training time",
      height: 200,
      x: across,
      y: {
        title: "loss, from its start",
        low: 1.05 * Math.min(...values, loss(end, space.dim)),
        high: 0,
      },
      layers,
    });
  }

  /**
   * Mark the chosen time in both charts.
   * @param {{ d: number, t: number }} state
   */
  function mark({ d, t }) {
    if (!charts.length) return;
    drawMarks(charts[0], strengthMarks(Math.min(curves, d), t, strength));
    drawMarks(charts[1], [{ kind: "rule", x: t, colour: "muted" }]);
  }

  return { draw, mark, drawings: () => charts.map(({ svg }) => svg) };
}
