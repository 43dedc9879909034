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
