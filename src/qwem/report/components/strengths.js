// The strength of features over training time.

const MOMENTS = 160;

/**
 * Lines of how features grow, the strongest on top.
 * @param {number} count
 * @param {number} end the last time
 * @param {(k: number, t: number) => number} strength
 * @param {(k: number) => string | null} chosen the colour of a feature that stands out
 * @param {(k: number) => string} nameOf
 */
export function strengthLines(count, end, strength, chosen, nameOf) {
  const grid = Array.from({ length: MOMENTS + 1 }, (_, i) => (end * i) / MOMENTS);
  return Array.from({ length: count }, (_, place) => {
    const k = count - 1 - place;
    return {
      kind: /** @type {const} */ ("line"),
      x: grid,
      y: grid.map((t) => strength(k, t)),
      colour: chosen(k) ?? "faint",
      width: chosen(k) ? 3 : 1.3,
      name: nameOf(k),
    };
  });
}

/**
 * Marks at a time: a line across, and a dot on each feature.
 * @param {number} count
 * @param {number} t
 * @param {(k: number, t: number) => number} strength
 * @returns {import("./chart.js").Layer[]}
 */
export function strengthMarks(count, t, strength) {
  const reached = Array.from({ length: count }, (_, k) => strength(k, t));
  return [
    { kind: "rule", x: t, colour: "muted" },
    { kind: "dots", x: Array(count).fill(t), y: reached, colour: "ink", size: 2.5 },
  ];
}
