// The point under the pointer, by a grid over the plane; and the points inside a drawn loop.

// Points sorted into the cells of a square grid.
export class SpatialIndex {
  constructor(positions) {
    const count = positions.length / 2;
    this.positions = positions;
    this.side = Math.max(1, Math.ceil(Math.sqrt(count / 4)));
    this.bounds = boundsOf(positions);
    const { left, low, right, high } = this.bounds;
    this.across = Math.max(right - left, high - low) / this.side || 1;
    const cells = new Int32Array(count);
    this.starts = new Int32Array(this.side * this.side + 1);
    for (let row = 0; row < count; row++) {
      cells[row] =
        this.#column(positions[2 * row + 1] - low) * this.side + this.#column(positions[2 * row] - left);
      this.starts[cells[row] + 1] += 1;
    }
    for (let cell = 0; cell < this.side * this.side; cell++) this.starts[cell + 1] += this.starts[cell];
    this.rows = new Int32Array(count);
    const next = this.starts.slice(0, -1);
    for (let row = 0; row < count; row++) this.rows[next[cells[row]]++] = row;
  }

  #column(offset) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(offset / this.across)));
  }

  // The nearest point within an ellipse around (x, y), or −1. Of equally near ones the first.
  nearest(x, y, wide, tall, fits = () => true) {
    const { left, low } = this.bounds;
    let found = -1;
    let least = 1;
    for (let j = this.#column(y - tall - low); j <= this.#column(y + tall - low); j++) {
      for (let i = this.#column(x - wide - left); i <= this.#column(x + wide - left); i++) {
        const cell = j * this.side + i;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k++) {
          const row = this.rows[k];
          const distance =
            ((this.positions[2 * row] - x) / wide) ** 2 + ((this.positions[2 * row + 1] - y) / tall) ** 2;
          if ((distance < least || (distance === least && row < found)) && fits(row)) {
            least = distance;
            found = row;
          }
        }
      }
    }
    return found;
  }
}

export function boundsOf(positions) {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < positions.length; i += 2) {
    const x = positions[i];
    const y = positions[i + 1];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < low) low = y;
    if (y > high) high = y;
  }
  return positions.length ? { left, right, low, high } : { left: -1, right: 1, low: -1, high: 1 };
}

// Rows whose points are inside a loop, given as x and y in turn (even–odd rule).
export function inside(positions, loop) {
  const bounds = boundsOf(Float32Array.from(loop));
  const found = [];
  for (let row = 0; row < positions.length / 2; row++) {
    const x = positions[2 * row];
    const y = positions[2 * row + 1];
    if (x < bounds.left || x > bounds.right || y < bounds.low || y > bounds.high) continue;
    let within = false;
    for (let i = 0, j = loop.length - 2; i < loop.length; j = i, i += 2) {
      const crosses = loop[i + 1] > y !== loop[j + 1] > y;
      const at = ((loop[j] - loop[i]) * (y - loop[i + 1])) / (loop[j + 1] - loop[i + 1]) + loop[i];
      if (crosses && x < at) within = !within;
    }
    if (within) found.push(row);
  }
  return found;
}
