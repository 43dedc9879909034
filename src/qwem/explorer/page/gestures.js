// Hands on a map: dragging, pinching, scrolling, drawing a loop, and keys.

const STEP = 60; // pixels that an arrow key moves the map

/**
 * What hands can do to a map. Places are pixels of its box.
 * @typedef {object} Hands
 * @property {(right: number, down: number) => void} pan
 * @property {(factor: number, x?: number, y?: number) => void} zoomBy
 * @property {() => void} fit
 * @property {(x: number, y: number) => void} hover
 * @property {(x: number, y: number) => void} click
 * @property {() => boolean} drawing whether a drag draws a loop
 * @property {(loop: number[]) => void} draw the loop so far, x and y in turn; empty when it is over
 * @property {(loop: number[]) => void} enclose a loop was closed
 */

/**
 * @param {HTMLElement} element
 * @param {Hands} hands
 */
export function moveByHand(element, hands) {
  /** @type {Map<number, { x: number, y: number }>} */
  const fingers = new Map();
  /** @type {number[]} */
  let loop = [];
  let moved = 0;
  const place = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    const { x, y } = place(event);
    fingers.set(event.pointerId, { x, y });
    moved = 0;
    if (hands.drawing() || event.shiftKey) loop = [x, y];
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) return hands.hover(now.x, now.y);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (loop.length) {
      loop.push(now.x, now.y);
      hands.draw(loop);
    } else if (fingers.size === 1) {
      hands.pan(now.x - before.x, now.y - before.y);
    } else {
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1] ?? now;
      const wider = Math.hypot(now.x - other.x, now.y - other.y);
      const narrow = Math.hypot(before.x - other.x, before.y - other.y) || 1;
      hands.zoomBy(wider / narrow, (now.x + other.x) / 2, (now.y + other.y) / 2);
    }
    fingers.set(event.pointerId, now);
  });
  const lift = (/** @type {PointerEvent} */ event) => {
    if (!fingers.delete(event.pointerId)) return;
    const drawn = loop;
    loop = [];
    hands.draw(loop);
    if (drawn.length > 4 && moved > 10) hands.enclose(drawn);
    else if (moved < 5 && event.type === "pointerup") hands.click(place(event).x, place(event).y);
  };
  element.addEventListener("pointerup", lift);
  element.addEventListener("pointercancel", lift);
  element.addEventListener("pointerleave", () => hands.hover(-Infinity, -Infinity));
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      hands.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), x, y);
    },
    { passive: false },
  );
  element.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    hands.zoomBy(2, x, y);
  });
  element.addEventListener("keydown", (event) => {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => hands.pan(STEP, 0),
      ArrowRight: () => hands.pan(-STEP, 0),
      ArrowUp: () => hands.pan(0, STEP),
      ArrowDown: () => hands.pan(0, -STEP),
      "+": () => hands.zoomBy(1.5),
      "=": () => hands.zoomBy(1.5),
      "-": () => hands.zoomBy(1 / 1.5),
      0: () => hands.fit(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
