// Bars with their names.

import { picture, shape, svgText } from "./components/svg.js";
import { colour } from "./components/theme.js";

/**
 * Bars to the left and right of zero, one for each row, with its name.
 * @param {Element} element
 * @param {{ label: string, rows: { name: string, value: number, shown: string }[] }} bars
 */
export function drawBars(element, { label, rows }) {
  const width = Math.max(260, element.clientWidth || 500);
  const [line, top] = [26, 6];
  const height = Math.max(1, rows.length) * line + 2 * top;
  const svg = picture(width, height, label);
  const names = Math.min(270, width * 0.48);
  const numbers = 52;
  const largest = Math.max(...rows.map(({ value }) => Math.abs(value)), 1e-12);
  const least = Math.min(0, ...rows.map(({ value }) => value)) / largest;
  const room = (width - names - numbers - 8) / (1 - least);
  const zero = names + 6 - least * room;
  rows.forEach(({ name, value, shown }, i) => {
    const y = top + i * line;
    const long = (Math.abs(value) / largest) * room;
    svg.append(
      shape("rect", {
        x: value < 0 ? zero - long : zero,
        y: y + 4,
        width: Math.max(long, 0.5),
        height: line - 8,
        rx: 2,
        fill: colour(value < 0 ? "warm" : "cool"),
      }),
      cut(name, Math.floor(names / 7.5), {
        x: names - 2,
        y: y + 17,
        fill: colour("ink"),
        "font-size": 13,
        "text-anchor": "end",
      }),
      svgText(shown, {
        x: width - 2,
        y: y + 17,
        fill: colour("muted"),
        "font-size": 12,
        "text-anchor": "end",
      }),
    );
  });
  svg.append(shape("line", { x1: zero, x2: zero, y1: 0, y2: height, stroke: colour("faint") }));
  element.replaceChildren(svg);
  return /** @type {SVGSVGElement} */ (svg);
}

/**
 * Text that is shortened where it is too long; all of it is under the pointer.
 * @param {string} text
 * @param {number} most
 * @param {Record<string, string | number>} attributes
 */
function cut(text, most, attributes) {
  const letters = [...text];
  const element = svgText(
    letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text,
    attributes,
  );
  if (letters.length > most) element.append(svgText(text, {}, "title"));
  return element;
}
