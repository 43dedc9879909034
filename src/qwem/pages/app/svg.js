// Elements of drawings in SVG. Text is always text.

const FONT = "system-ui, sans-serif";
const SVG = "http://www.w3.org/2000/svg";

// An empty picture, with its name for who can't see it.
export function picture(width, height, label) {
  return shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": label,
    "font-family": FONT,
  });
}

export function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

export function svgText(text, attributes, tag = "text") {
  const element = shape(tag, attributes);
  element.textContent = text;
  return element;
}
