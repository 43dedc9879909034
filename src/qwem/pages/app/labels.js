// Labels that never overlap: the first in order of priority keep their place, the others wait.

const CELL = 64; // pixels: boxes are looked up in cells of this size

// Boxes that are taken, by cell.
export class Room {
  #cells = new Map();

  // Take a box unless it overlaps one that is taken.
  take(box) {
    const right = Math.floor((box.x + box.width) / CELL);
    const bottom = Math.floor((box.y + box.height) / CELL);
    const keys = [];
    for (let i = Math.floor(box.x / CELL); i <= right; i++) {
      for (let j = Math.floor(box.y / CELL); j <= bottom; j++) {
        const key = i * 4096 + j;
        for (const other of this.#cells.get(key) ?? []) if (overlap(box, other)) return false;
        keys.push(key);
      }
    }
    for (const key of keys) {
      const cell = this.#cells.get(key);
      if (cell) cell.push(box);
      else this.#cells.set(key, [box]);
    }
    return true;
  }
}

export function overlap(a, b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// Labels for the rows that are in sight, in order, until there are enough.
export function placeLabels(rows, positions, camera, frame, measure, room = new Room()) {
  const placed = [];
  let refused = 0;
  for (const row of rows) {
    const x = camera.left + camera.across * positions[2 * row];
    const y = camera.top - camera.up * positions[2 * row + 1];
    if (!(x > 0 && y > frame.line && x < frame.width && y < frame.height)) continue;
    const width = measure(row);
    const left = Math.min(Math.max(x - width / 2, 2), frame.width - width - 2);
    const box = { row, x: left, y: y - frame.line - 4, width, height: frame.line };
    if (room.take(box)) placed.push(box);
    else refused += 1;
    if (placed.length >= frame.most || refused > 12 * frame.most) break;
  }
  return placed;
}
