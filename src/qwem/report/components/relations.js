// Relations between pairs of words, in words and as a histogram.

/**
 * What is known of a relation in one dimension.
 * @typedef {object} Relation
 * @property {number} pairs
 * @property {string[][]} examples
 * @property {number} spike
 * @property {number} edge
 * @property {number[]} bulk
 * @property {[number[], number[]]} density
 * @property {number} signalInMean
 * @property {[number, number][]} strongest
 */

/** @param {Relation} task */
export function taskText(task) {
  const examples = task.examples.map((pair) => pair.join(" → ")).join(", ");
  const times = (task.spike / task.edge).toFixed(1);
  const mean = Math.round(100 * task.signalInMean);
  const carried = task.strongest.map(([rank, part]) => `${rank} (${Math.round(100 * part)}%)`);
  return (
    `${task.pairs} pairs: ${examples} and so on. The spike is at ${times} times the edge of the ` +
    `noise, and ${mean}% of it is the mean difference. Features ${carried.join(", ")} contribute ` +
    `most to the mean difference.`
  );
}

/**
 * Heights of a histogram of the bulk, of area one, and the width of its bars.
 * @param {Pick<Relation, "bulk" | "edge">} task
 */
export function histogram(task) {
  const end = Math.max(task.edge, ...task.bulk);
  const bins = Math.max(6, Math.round(2 * Math.sqrt(task.bulk.length)));
  const width = end / bins;
  const heights = Array(bins).fill(0);
  for (const value of task.bulk) {
    heights[Math.min(bins - 1, Math.floor(value / width))] += 1 / (task.bulk.length * width);
  }
  return { heights, width };
}

/**
 * The top of the figure. The density of noise may diverge at zero, which is cut off.
 * @param {Pick<Relation, "bulk" | "edge" | "density">} task
 */
export function gramTop(task) {
  const highest = Math.max(...histogram(task).heights);
  return 1.08 * Math.min(1.6 * highest, Math.max(highest, ...task.density[1]));
}

/**
 * A chart of the differences' spectrum: the bulk, what pure noise would be, and the spike.
 * @param {Pick<Relation, "bulk" | "edge" | "density" | "spike">} task
 * @param {number} height
 * @returns {import("./chart.js").Chart}
 */
export function gramChart(task, height) {
  const { heights, width } = histogram(task);
  const top = gramTop(task);
  const spike = 0.32 * top;
  const centres = heights.map((/** @type {number} */ _, /** @type {number} */ i) => (i + 0.5) * width);
  return {
    label: `Eigenvalues of the differences: noise up to ${task.edge.toFixed(2)}, spike at ${task.spike.toFixed(2)}`,
    height,
    x: {
      title: "eigenvalue of the differences’ Gram matrix, G/d",
      low: 0,
      high: 1.08 * Math.max(task.spike, task.edge, ...task.bulk),
    },
    y: { title: "density", low: 0, high: top },
    layers: [
      { kind: "bars", x: centres, y: heights, width, colour: "wash", edge: "cool" },
      {
        kind: "line",
        x: task.density[0],
        y: task.density[1].map((value) => Math.min(value, 2 * top)),
        colour: "warm",
        width: 2.5,
        name: "pure noise (Marchenko–Pastur)",
      },
      { kind: "line", x: [task.spike, task.spike], y: [0, spike], colour: "cool", width: 2.5 },
      { kind: "dots", x: [task.spike], y: [spike], colour: "cool", size: 5, names: ["spike"] },
      { kind: "labels", x: [task.spike], y: [spike], colour: "ink", size: 13, names: ["spike"] },
    ],
  };
}

/**
 * Signal to noise of a relation at each dimension.
 * @typedef {object} Signal
 * @property {number[]} dims
 * @property {(number | null)[]} snr
 * @property {(number | null)[]} accuracy
 */

/**
 * A chart of signal to noise against the dimension, of one relation and maybe of others behind it.
 * @param {Signal} chosen
 * @param {(Signal & { name: string })[]} others
 * @param {number} height
 * @returns {import("./chart.js").Chart}
 */
export function signalChart(chosen, others, height) {
  const known = (/** @type {Signal} */ { snr }) => snr.map((value) => value ?? NaN);
  const shown = [chosen, ...others];
  const line = { kind: /** @type {const} */ ("line"), x: chosen.dims, y: known(chosen) };
  return {
    label: "Signal to noise against the number of dimensions",
    height,
    x: {
      title: "number of dimensions d",
      low: Math.max(1, chosen.dims[0] * 0.9),
      high: (chosen.dims.at(-1) ?? 2) * 1.1,
      log: true,
    },
    y: {
      title: "signal to noise",
      low: 0,
      high: 1.1 * Math.max(0.1, ...shown.flatMap(known).filter(Number.isFinite)),
    },
    layers: [
      ...others.map((other) => ({
        kind: /** @type {const} */ ("line"),
        x: other.dims,
        y: known(other),
        colour: "faint",
        width: 1.3,
        name: other.name,
      })),
      { ...line, colour: "cool", width: 2.5 },
      {
        ...line,
        kind: "dots",
        colour: "cool",
        names: chosen.dims.map(
          (d, i) =>
            `d = ${d}: ${known(chosen)[i].toFixed(2)}, ${(100 * (chosen.accuracy[i] ?? 0)).toFixed(0)}% of analogies answered`,
        ),
      },
    ],
  };
}
