// A square of cells, coloured by their numbers.

import { picture, shape, svgText } from "./components/svg.js";
import { colour } from "./components/theme.js";

/**
 * A square of cells, each with a number from 0 to 1.
 * @param {Element} element
 * @param {{ label: string, cells: number[][], across: string, down: string, fill: (value: number) => string,
 *   name: (row: number, column: number) => string }} heat
 */
export function drawHeat(element, { label, cells, across, down, fill, name }) {
  const width = Math.min(620, Math.max(260, element.clientWidth || 500));
  const edge = { left: 46, top: 8, bottom: 42 };
  const side = (width - edge.left - 8) / Math.max(1, cells.length);
  const height = edge.top + side * cells.length + edge.bottom;
  const svg = picture(width, height, label);
  const text = { fill: colour("muted"), "font-size": 12 };
  cells.forEach((row, i) =>
    row.forEach((value, j) => {
      const cell = shape("rect", {
        x: (edge.left + j * side).toFixed(2),
        y: (edge.top + i * side).toFixed(2),
        width: Math.max(1, side - 0.5).toFixed(2),
        height: Math.max(1, side - 0.5).toFixed(2),
        fill: fill(value),
      });
      cell.append(svgText(name(i, j), {}, "title"));
      svg.append(cell);
    }),
  );
  const every = Math.max(1, Math.ceil(cells.length / 8));
  for (let i = 0; i < cells.length; i += every) {
    const at = (i + 0.5) * side;
    svg.append(
      svgText(String(i + 1), {
        ...text,
        x: edge.left + at,
        y: height - edge.bottom + 16,
        "text-anchor": "middle",
      }),
    );
    svg.append(
      svgText(String(i + 1), {
        ...text,
        x: edge.left - 6,
        y: edge.top + at + 4,
        "text-anchor": "end",
      }),
    );
  }
  svg.append(svgText(across, { ...text, x: width / 2, y: height - 6, "text-anchor": "middle" }));
  svg.append(
    svgText(down, {
      ...text,
      transform: `translate(12 ${(height - edge.bottom) / 2}) rotate(-90)`,
      "text-anchor": "middle",
    }),
  );
  element.replaceChildren(svg);
  return /** @type {SVGSVGElement} */ (svg);
}
