// Elements of drawings in SVG. Text is always text.

const FONT = "system-ui, sans-serif";
const SVG = "http://www.w3.org/2000/svg";

/**
 * An empty picture, with its name for who can't see it.
 * @param {number} width
 * @param {number} height
 * @param {string} label
 */
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

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
export function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} attributes
 * @param {string} tag
 */
export function svgText(text, attributes, tag = "text") {
  const element = shape(tag, attributes);
  element.textContent = text;
  return element;
}
