// Matrices that are stored as text: integers with one scale per column.

/**
 * A matrix as Python wrote it: base64 of little-endian integers, row by row.
 * @typedef {{ bits: number, columns: number, scales: number[], data: string }} Packed
 */

/**
 * Entry (i, j) is whole[i * columns + j] * scales[j].
 * @typedef {{ rows: number, columns: number, scales: Float64Array, whole: Int8Array | Int16Array }} Matrix
 */

/**
 * @param {Packed} packed
 * @returns {Matrix}
 */
export function unpack({ bits, columns, scales, data }) {
  const binary = atob(data);
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const whole = bits === 8 ? new Int8Array(bytes.buffer) : new Int16Array(bytes.buffer);
  return { rows: whole.length / columns, columns, scales: Float64Array.from(scales), whole };
}

/**
 * @param {Matrix} matrix
 * @param {number} row
 * @param {number} column
 */
export function entry(matrix, row, column) {
  return matrix.whole[row * matrix.columns + column] * matrix.scales[column];
}

/**
 * The given row as a vector of length one; a zero row stays zero.
 * @param {Matrix} matrix
 * @param {number} row
 */
export function unitRow(matrix, row) {
  const vector = Float64Array.from({ length: matrix.columns }, (_, j) => entry(matrix, row, j));
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** @param {Matrix} matrix */
export function rowNorms(matrix) {
  return Float64Array.from({ length: matrix.rows }, (_, row) => {
    let sum = 0;
    for (let j = 0; j < matrix.columns; j++) sum += entry(matrix, row, j) ** 2;
    return Math.sqrt(sum);
  });
}

/**
 * Rows by cosine with a vector, nearest first: [[row, cosine], …]. Equal ones keep their order.
 * @param {Matrix} matrix
 * @param {Float64Array} norms
 * @param {Float64Array} vector
 * @param {number} count
 * @param {Set<number>} excluded
 * @returns {[number, number][]}
 */
export function nearestRows(matrix, norms, vector, count, excluded) {
  const length = Math.hypot(...vector);
  if (length === 0) return [];
  const scaled = vector.map((value, j) => (value * matrix.scales[j]) / length);
  /** @type {[number, number][]} */
  const found = [];
  for (let row = 0; row < matrix.rows; row++) {
    if (norms[row] === 0 || excluded.has(row)) continue;
    let sum = 0;
    const offset = row * matrix.columns;
    for (let j = 0; j < matrix.columns; j++) sum += matrix.whole[offset + j] * scaled[j];
    found.push([row, sum / norms[row]]);
  }
  return found.sort((a, b) => b[1] - a[1]).slice(0, count);
}
