// What can be saved: a table, a picture for print, the address of what is shown.

import { SVG, setAttributes, shape } from "./charts.js";
import { button, make } from "./dom.js";
import { colour } from "./theme.js";

const PRINT = 3; // pixels of a saved picture per pixel of the page

// Buttons to save what a view shows. `table` returns rows; `drawing` returns one SVG, or null.
export function saveButtons({ name, table, drawing }) {
  const said = make("span.said", { role: "status" });
  const save = (blob, ending) => {
    if (blob) download(blob, `${name}.${ending}`);
    said.textContent = blob ? "Saved." : "There is nothing to save yet.";
  };
  const buttons = [];
  if (drawing) {
    buttons.push(
      button("Save SVG", async () => save(asBlob(await drawing()), "svg")),
      button("Save PNG", async () => save(await asPicture(await drawing()), "png")),
    );
  }
  if (table) {
    buttons.push(
      button("Save table", () =>
        save(new Blob(["\ufeff", csv(table())], { type: "text/csv;charset=utf-8" }), "csv"),
      ),
    );
  }
  buttons.push(
    button("Copy address", async () => {
      try {
        await navigator.clipboard.writeText(location.href);
        said.textContent = "Address copied.";
      } catch {
        said.textContent = "The address of this view is in the address bar.";
      }
    }),
  );
  return make("div.save", ...buttons, said);
}

// Rows as comma-separated values (RFC 4180). Text that a spreadsheet would take for a formula gets
// an apostrophe in front.
function csv(rows) {
  const cell = (value) => {
    let shown = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(value)) shown = `'${value}`;
    return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The drawings in some elements, one below the other, as one.
export function drawingsIn(...elements) {
  return stackDrawings(elements.flatMap((element) => [...element.querySelectorAll("svg")]));
}

export function stackDrawings(drawings) {
  if (!drawings.length) return null;
  const all = shape("svg", {});
  let [width, height] = [0, 0];
  for (const drawing of drawings) {
    const { width: wide, height: tall } = drawing.viewBox.baseVal;
    all.append(setAttributes(drawing.cloneNode(true), { y: height, width: wide, height: tall }));
    height += tall;
    width = Math.max(width, wide);
  }
  return setAttributes(all, { viewBox: `0 0 ${width} ${height}` });
}

function asBlob(drawing) {
  if (!drawing) return null;
  const { width, height } = drawing.viewBox.baseVal;
  const all = setAttributes(drawing.cloneNode(true), { xmlns: SVG, width, height });
  all.prepend(shape("rect", { width: "100%", height: "100%", fill: colour("paper") }));
  return new Blob([new XMLSerializer().serializeToString(all)], { type: "image/svg+xml" });
}

async function asPicture(drawing) {
  const blob = asBlob(drawing);
  if (!blob) return null;
  const image = new Image();
  const { width, height } = drawing.viewBox.baseVal;
  image.src = URL.createObjectURL(blob);
  await image.decode();
  const canvas = make("canvas", { width: PRINT * width, height: PRINT * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done));
}
