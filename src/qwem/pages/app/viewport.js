// Viewport: which part of a map is seen, and where a point of it lies on the screen.

const CLOSEST = 4000; // how far one can zoom in
const FARTHEST = 0.5;

export class Viewport {
  zoom = 1;
  // The point of the map in the middle; all of it is from −1 to 1 on both axes.
  centre = [0, 0];
  // Pixels of the screen, across and down.
  size = [1, 1];

  // See all of the map.
  fit() {
    this.zoom = 1;
    this.centre = [0, 0];
  }

  // Look at a point; what is no number changes nothing.
  look(zoom, x, y) {
    if (![zoom, x, y].every(Number.isFinite)) return;
    this.zoom = Math.min(CLOSEST, Math.max(FARTHEST, zoom));
    this.centre = [x, y];
  }

  // Zoom by a factor, keeping a pixel in its place.
  zoomBy(factor, x = this.size[0] / 2, y = this.size[1] / 2) {
    const before = this.at(x, y);
    this.zoom = Math.min(CLOSEST, Math.max(FARTHEST, this.zoom * factor));
    const after = this.at(x, y);
    this.centre = [this.centre[0] + before[0] - after[0], this.centre[1] + before[1] - after[1]];
  }

  // Move the map by some pixels.
  pan(right, down) {
    const { across, up } = this.camera;
    this.centre = [this.centre[0] - right / across, this.centre[1] + down / up];
  }

  get camera() {
    const [width, height] = this.size;
    const room = 0.46 * this.zoom;
    const across = room * width;
    const up = room * height;
    return {
      across,
      up,
      left: width / 2 - across * this.centre[0],
      top: height / 2 + up * this.centre[1],
    };
  }

  // The point of the map under a pixel.
  at(x, y) {
    const { across, up, left, top } = this.camera;
    return [(x - left) / across, (top - y) / up];
  }
}
