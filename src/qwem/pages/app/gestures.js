// Hands on a map: dragging, pinching, scrolling, drawing a loop, and keys.

const STEP = 60; // pixels that an arrow key moves the map

export function moveByHand(element, hands) {
  const fingers = new Map();
  let loop = [];
  let moved = 0;
  const place = (event) => {
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
  const lift = (event) => {
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
