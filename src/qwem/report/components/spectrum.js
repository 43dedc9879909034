// The spectrum: one dot for each feature.

/**
 * A chart of eigenvalues, with the name of each feature under the pointer.
 * @param {number[]} eigenvalues
 * @param {(rank: number) => string} nameOf
 * @param {number} height
 * @returns {import("./chart.js").Chart}
 */
export function spectrumChart(eigenvalues, nameOf, height) {
  const sizes = eigenvalues.map(Math.abs);
  const dots = (/** @type {boolean} */ negative) => {
    const ranks = sizes
      .map((_, k) => k + 1)
      .filter((rank) => eigenvalues[rank - 1] < 0 === negative);
    return {
      kind: /** @type {const} */ ("dots"),
      x: ranks,
      y: ranks.map((rank) => sizes[rank - 1]),
      colour: negative ? "warm" : "cool",
      names: ranks.map(nameOf),
    };
  };
  return {
    label: "Eigenvalues of all features, the largest first",
    height,
    x: {
      title: "feature, in order of its eigenvalue",
      low: 0.9,
      high: 1.1 * sizes.length,
      log: true,
    },
    y: {
      title: "eigenvalue |λ|",
      low: 0.85 * Math.min(...sizes),
      high: 1.15 * Math.max(...sizes),
      log: true,
    },
    layers: [dots(false), dots(true)],
  };
}
