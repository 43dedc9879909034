// Small helpers to make elements. Text is always text: nothing here reads HTML.

import { UnknownWords } from "./data.js";

// An element: its tag and classes ("p.note"), properties if it has any (attributes where the name has a
// dash, or is `role` or `list`), and children.
export function make(kind, ...rest) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag);
  const [given, children] = rest[0]?.constructor === Object ? [rest[0], rest.slice(1)] : [{}, rest];
  element.className = classes.join(" ");
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (name.includes("-") || name === "role" || name === "list") element.setAttribute(name, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else Reflect.set(element, name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const note = (content) => make("p.note", content);

// A control with its visible name.
export function labelled(name, control, className = "") {
  return make("label", { className }, make("span", name), control);
}

export function button(name, onclick, more = {}) {
  return make("button", { type: "button", onclick, ...more }, name);
}

// A form in one line; its button submits it.
export function form(submit, name, ...children) {
  const onsubmit = (event) => {
    event.preventDefault();
    submit();
  };
  return make("form.controls", { onsubmit }, ...children, make("button.main", { type: "submit" }, name));
}

// A menu of choices: value and text of each.
export function menu(choices, chosen, change) {
  const select = make("select", { onchange: () => change(select.value) });
  select.replaceChildren(...choices.map(([value, name]) => new Option(name, value)));
  select.value = choices.some(([value]) => value === chosen) ? chosen : (choices[0]?.[0] ?? "");
  return select;
}

// A field for words, with suggestions while one is typed.
export function wordField(value, more = {}) {
  const plain = { autocapitalize: "none", autocomplete: "off", spellcheck: false };
  return make("input", { type: "text", value, list: "suggestions", ...plain, ...more });
}

// A slider; `slide` is called with its value.
export function range(min, max, step, slide) {
  const oninput = () => slide(Number(slider.value));
  const slider = make("input", { type: "range", min, max, step, oninput });
  return slider;
}

// A round button, one of several to choose from.
export function chip(content, onclick, more = {}) {
  return make("button.chip", { type: "button", onclick, ...more }, content);
}

// A part of a view with its heading, which names it for screen readers too.
export function section(heading, title, ...children) {
  return make("section", { "aria-label": title }, make(heading, title), ...children);
}

// A table with a head; the caption is for screen readers.
export function table(head, rows, caption, className = "") {
  const cells = (tag, row) => row.map((cell) => make(tag, tag === "th" ? { scope: "col" } : {}, cell));
  return make(
    "div.scroll",
    make(
      "table",
      { className },
      make("caption.hidden", caption),
      head.length ? make("thead", make("tr", ...cells("th", head))) : null,
      make("tbody", ...rows.map((row) => make("tr", ...cells("td", row)))),
    ),
  );
}

// A sentence about something that went wrong; of unknown words with close spellings to press.
export function complaint(error, follow) {
  const said = make("p.unknown", { role: "status" });
  said.append(error instanceof Error ? error.message : String(error));
  if (error instanceof UnknownWords && error.close.length) {
    said.append(" Close spellings: ");
    error.close.forEach((word, i) => {
      if (i) said.append(", ");
      said.append(follow ? wordButton(word, follow) : word);
    });
    said.append(".");
  }
  return said;
}

// A heading and a sentence that says what one sees.
export function intro(title, sentence) {
  return make("div.intro", make("h1", title), make("p", sentence));
}

export function wordButton(word, follow) {
  return button(word, () => follow(word), { className: "word" });
}

// A number with a bar behind it that is as long as the number is large, one being the longest.
export function bar(value, shown = value.toFixed(2)) {
  const element = make("span.bar", shown);
  element.style.setProperty("--part", Math.min(1, Math.max(value, 0)).toFixed(4));
  return element;
}

// A list of words with their cosines as bars; with `follow` each word is a button.
export function foundList(found, follow) {
  const items = found.map(([word, cosine]) =>
    make("li", follow ? wordButton(word, follow) : make("span.word", word), bar(cosine)),
  );
  return make("ol.found", ...items);
}

// Words in a row, divided by commas, each a button.
export function wordRow(words, follow) {
  // A comma stays beside its word, unless that is very long.
  return words.flatMap((word, i) => {
    const last = i === words.length - 1;
    return [
      make("span", { className: word.length < 24 ? "item" : "" }, wordButton(word, follow), last ? "" : ","),
      " ",
    ];
  });
}

// Words typed in a field: divided by commas or spaces.
export function typedWords(typed) {
  return typed.split(/[\s,;]+/).filter(Boolean);
}

// A number with digits and a proper minus, without a minus zero.
export function signed(value, digits = 2) {
  const scale = 10 ** digits;
  const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return (Math.round(scale * value) / scale + 0).toLocaleString("en", places).replace("-", "−");
}

export const formatCount = (value) => Math.round(value).toLocaleString("en");
export const percent = (value, digits = 0) => `${(100 * value).toFixed(digits)}%`;

// A function that fills a box once an answer has come: with the children that `show` makes of it, or with what
// went wrong. If it is called again meanwhile, only the last answer counts. `waiting` is shown until then.
export function filler(box, follow) {
  let asked = 0;
  return async (answer, show, waiting) => {
    const mine = (asked += 1);
    const fill = (children) => children && box.replaceChildren(...children.filter(Boolean));
    if (waiting) fill([make("p.waiting", { role: "status" }, waiting)]);
    try {
      const found = await answer;
      if (mine === asked) fill(show(found));
    } catch (error) {
      if (mine === asked) fill([complaint(error, follow)]);
    }
  };
}

// The values of a view. Its address has those that are not the defaults. Numbers have bounds, and are
// whole if a third bound says so.
export function addressState(app, defaults, bounds = {}) {
  const state = { ...defaults };
  let later;
  const numberOf = (name, given) => {
    const [low = -Infinity, high = Infinity, whole = false] = bounds[name] ?? [];
    const value = given === "" ? NaN : Number(given);
    if (!Number.isFinite(value)) return defaults[name];
    return Math.min(high, Math.max(low, whole ? Math.round(value) : value));
  };
  const read = (parameters) => {
    for (const [name, value] of Object.entries(defaults)) {
      const given = parameters.get(name);
      if (given === null) state[name] = value;
      else state[name] = typeof value === "number" ? numberOf(name, given) : given;
    }
  };
  const keep = (more = {}) => {
    const short = (value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);
    const changed = Object.entries(state).filter(([name, value]) => value !== defaults[name]);
    app.keep({ ...Object.fromEntries(changed.map(([name, value]) => [name, short(value)])), ...more });
  };
  // Keep the values once they rest, as a drag changes them many times, if `wanted` is true then.
  const keepSoon = (wanted) => {
    clearTimeout(later);
    later = setTimeout(() => wanted() && keep(), 150);
  };
  return { state, read, keep, keepSoon };
}
