// Small helpers to make elements. Text is always text: nothing here reads HTML.

/**
 * An element with properties (attributes where the name has a dash, or is `role` or `for`) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.includes("-") || name === "role" || name === "list") element.setAttribute(name, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else Reflect.set(element, name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * A control with its visible name.
 * @param {string} text
 * @param {HTMLElement} control
 * @param {string} [className]
 */
export function labelled(text, control, className = "") {
  return make("label", { className }, make("span", { textContent: text }), control);
}

/**
 * @param {string} text
 * @param {() => void} onclick
 * @param {Record<string, any>} [more]
 */
export function button(text, onclick, more = {}) {
  return make("button", { type: "button", textContent: text, onclick, ...more });
}

/**
 * A menu of choices: value and text of each.
 * @param {[string, string][]} choices
 * @param {string} chosen
 * @param {(value: string) => void} change
 */
export function menu(choices, chosen, change) {
  const select = make("select", { onchange: () => change(select.value) });
  fillMenu(select, choices, chosen);
  return select;
}

/**
 * @param {HTMLSelectElement} select
 * @param {[string, string][]} choices
 * @param {string} chosen
 */
export function fillMenu(select, choices, chosen) {
  select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
  select.value = choices.some(([value]) => value === chosen) ? chosen : (choices[0]?.[0] ?? "");
}

/**
 * A field for a word, with suggestions while typing.
 * @param {string} value
 * @param {Record<string, any>} [more]
 */
export function wordField(value, more = {}) {
  return make("input", {
    type: "text",
    value,
    list: "suggestions",
    autocapitalize: "none",
    autocomplete: "off",
    spellcheck: false,
    ...more,
  });
}

/**
 * A table with a head.
 * @param {string[]} head
 * @param {(string | Node)[][]} rows
 * @param {string} caption what the table shows, for those who don't see it
 */
export function tableOf(head, rows, caption) {
  return make(
    "div",
    { className: "scroll" },
    make(
      "table",
      {},
      make("caption", { className: "hidden", textContent: caption }),
      make(
        "thead",
        {},
        make("tr", {}, ...head.map((text) => make("th", { scope: "col", textContent: text }))),
      ),
      make(
        "tbody",
        {},
        ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))),
      ),
    ),
  );
}

/**
 * A sentence about something that went wrong.
 * @param {unknown} error
 */
export function complaint(error) {
  return make("p", {
    className: "unknown",
    role: "status",
    textContent: error instanceof Error ? error.message : String(error),
  });
}

/** A box that holds a chart. */
export function chartBox() {
  return make("div", { className: "chart" });
}
