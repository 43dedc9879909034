// What can be taken home: a table, a picture, the address of what is shown.

import { button, make } from "./dom.js";

/**
 * Buttons to save what a view shows. The functions are called when a button is pressed.
 * @param {{ name: string, table?: () => (string | number | null | undefined)[][],
 *   picture?: () => Promise<Blob | null> | Blob | null }} what
 */
export function saveButtons({ name, table, picture }) {
  const said = make("span", { className: "said", role: "status" });
  const buttons = [];
  if (picture) {
    buttons.push(
      button("Save picture", async () => {
        const blob = await picture();
        if (blob) download(blob, `${name}.${blob.type.includes("svg") ? "svg" : "png"}`);
        said.textContent = blob ? "Picture saved." : "There is no picture yet.";
      }),
    );
  }
  if (table) {
    buttons.push(
      button("Save table", () => {
        download(
          new Blob(["\ufeff", csv(table())], { type: "text/csv;charset=utf-8" }),
          `${name}.csv`,
        );
        said.textContent = "Table saved.";
      }),
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
  return make("div", { className: "save" }, ...buttons, said);
}

/**
 * Rows as comma-separated values (RFC 4180).
 * @param {(string | number | null | undefined)[][]} rows
 */
export function csv(rows) {
  const cell = (/** @type {string | number | null | undefined} */ value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * Drawings side by side become one picture, one below the other.
 * @param {SVGSVGElement[]} drawings
 * @param {string} paper
 */
export function pictureOf(drawings, paper) {
  if (!drawings.length) return null;
  const space = "http://www.w3.org/2000/svg";
  const all = document.createElementNS(space, "svg");
  let height = 0;
  let width = 0;
  for (const drawing of drawings) {
    const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
    const { width: wide, height: tall } = drawing.viewBox.baseVal;
    copy.setAttribute("y", String(height));
    copy.setAttribute("width", String(wide));
    copy.setAttribute("height", String(tall));
    all.append(copy);
    height += tall;
    width = Math.max(width, wide);
  }
  all.setAttribute("xmlns", space);
  all.setAttribute("viewBox", `0 0 ${width} ${height}`);
  all.setAttribute("width", String(width));
  all.setAttribute("height", String(height));
  const back = document.createElementNS(space, "rect");
  back.setAttribute("width", "100%");
  back.setAttribute("height", "100%");
  back.setAttribute("fill", paper);
  all.prepend(back);
  return new Blob([new XMLSerializer().serializeToString(all)], { type: "image/svg+xml" });
}
