// Points drawn pixel by pixel into an image. Where WebGL is done in software this is far faster than
// WebGL (benchmarks/explorer_map.py), with graphics hardware it is fast enough, and it works everywhere.

export class PointLayer {
  #image = null;
  #pixels = new Uint32Array(0);
  #stamps = new Map();

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  // Draw all points, the first on top.
  draw(positions, colours, diameter, camera, paper) {
    const { width, height } = this.canvas;
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = this.context.createImageData(width, height);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
    }
    const pixels = this.#pixels;
    pixels.fill(packed(...paper));
    const stamp = this.#stamp(Math.max(1, Math.round(diameter)));
    const { side } = stamp;
    const steps = stamp.down.map((down, i) => down * width + stamp.right[i]);
    for (let row = positions.length / 2 - 1; row >= 0; row--) {
      const left = Math.round(camera.left + camera.across * positions[2 * row] - side / 2);
      const top = Math.round(camera.top - camera.up * positions[2 * row + 1] - side / 2);
      if (!(left > -side && top > -side && left < width && top < height)) continue;
      const alpha = colours[4 * row + 3];
      const colour = packed(colours[4 * row], colours[4 * row + 1], colours[4 * row + 2]);
      const corner = top * width + left;
      if (left >= 0 && top >= 0 && left + side <= width && top + side <= height) {
        for (let i = 0; i < steps.length; i++) {
          const at = corner + steps[i];
          pixels[at] = blend(pixels[at], colour, (alpha * stamp.cover[i]) | 0);
        }
        continue;
      }
      for (let i = 0; i < steps.length; i++) {
        const x = left + stamp.right[i];
        const y = top + stamp.down[i];
        if (x < 0 || y < 0 || x >= width || y >= height) continue;
        const at = corner + steps[i];
        pixels[at] = blend(pixels[at], colour, (alpha * stamp.cover[i]) | 0);
      }
    }
    this.context.putImageData(this.#image, 0, 0);
  }

  #stamp(side) {
    const known = this.#stamps.get(side);
    if (known) return known;
    const right = [];
    const down = [];
    const cover = [];
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        const distance = Math.hypot(x + 0.5 - side / 2, y + 0.5 - side / 2);
        const covered = side < 4 ? 1 : Math.min(1, Math.max(0, side / 2 - distance + 0.5));
        if (covered === 0) continue;
        right.push(x);
        down.push(y);
        cover.push(covered);
      }
    }
    const stamp = {
      side,
      right: Int32Array.from(right),
      down: Int32Array.from(down),
      cover: Float32Array.from(cover),
    };
    this.#stamps.set(side, stamp);
    return stamp;
  }
}

// A colour as the image stores it on little-endian machines, which all that run browsers are.
function packed(red, green, blue) {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

// One colour over another: red and blue together, then green.
function blend(under, over, alpha) {
  const kept = 255 - alpha;
  const redBlue = (((over & 0xff00ff) * alpha + (under & 0xff00ff) * kept) >>> 8) & 0xff00ff;
  const green = (((over & 0x00ff00) * alpha + (under & 0x00ff00) * kept) >>> 8) & 0x00ff00;
  return (0xff000000 | redBlue | green) >>> 0;
}
