// The application: reads its data, shows the view that the address names, and keeps the address right.

import { compareView } from "./compare.js";
import { Model, json } from "./data.js";
import { analogyView, axisView } from "./directions.js";
import { complaint, labelled, make, menu } from "./dom.js";
import { featureView } from "./features.js";
import { mapView } from "./map.js";
import { overviewView } from "./overview.js";
import { relationView } from "./relations.js";
import { startThemes, startTips } from "./theme.js";
import { trainingView } from "./training.js";
import { wordView } from "./word.js";

// A view is made once for each model and space; `vectors` says whether it depends on the space. It has
// `show(parameters)`, and may have `redraw` for other colours and widths and `leave` for when another view is
// shown. It is given an `app`: the page's facts, the model, its space and words, and ways to go to other views.
const VIEWS = {
  overview: { title: "Overview", make: overviewView },
  map: { title: "Map", make: mapView, vectors: true },
  word: { title: "Words", make: wordView, vectors: true },
  analogies: { title: "Analogies", make: analogyView, vectors: true },
  relations: { title: "Relations", make: relationView },
  axes: { title: "Axes", make: axisView, vectors: true },
  features: { title: "Features", make: featureView },
  training: {
    title: "Training",
    make: trainingView,
    fits: ({ model }) => model.spaces.some(({ run }) => run),
  },
  compare: { title: "Compare", make: compareView, fits: ({ page }) => page.models.length > 1 },
};
const SUGGESTIONS = 30;

const content = document.getElementById("content");
const models = new Map(); // those that were loaded, by number
const made = new Map(); // views of the present model and space
const visited = new Map(); // the address that each view had when it was left
let page;
let app = null;
let shown = "";

async function start() {
  page = await json("page");
  startThemes(redrawShown);
  await showAddress(location.hash);
  addEventListener("hashchange", ({ newURL }) => showAddress(new URL(newURL).hash));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) redrawShown(); // a telephone's bars come and go
    width = innerWidth;
  });
  startTips();
  document.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLInputElement && target.getAttribute("list")) suggest(target.value);
  });
}

function loadModel(number) {
  if (!models.has(number)) models.set(number, Model.load(number, page.models[number]));
  return models.get(number);
}

// Show the view that an address names, of its model and space.
async function showAddress(hash) {
  const { view, parameters } = readAddress(hash);
  if (view === "content") return content.focus();
  const given = Number(parameters.get("model") ?? 0);
  const number = page.models[given] ? given : 0;
  const model = await loadModel(number);
  const space = model.space(parameters.get("space"));
  if (app?.model !== model || app.space !== space) choose(model, space);
  const fitting = Object.hasOwn(VIEWS, view) && (VIEWS[view].fits?.(app) ?? true);
  const name = fitting ? view : "overview";
  visited.set(name, hash || "#overview");
  if (shown !== name) {
    made.get(shown)?.view.leave?.();
    for (const { element } of made.values()) element.hidden = true;
    shown = name;
  }
  for (const each of document.querySelectorAll("#which .vectors")) each.hidden = !VIEWS[name].vectors;
  document.title = name === "overview" ? page.title : `${VIEWS[name].title} · ${model.name}`;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.getAttribute("href") === `#${name}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  let one = made.get(name);
  if (one) one.element.hidden = false;
  else {
    const element = make("section", { className: `view ${name}`, "aria-label": VIEWS[name].title });
    content.append(element);
    one = { element, view: VIEWS[name].make(element, app) };
    made.set(name, one);
  }
  await one.view.show(fitting ? parameters : new URLSearchParams());
}

// Choose a model and one of its spaces for all views.
function choose(model, space) {
  const mine = {
    page,
    model,
    space,
    words: model.words,
    load: loadModel,
    go: (view, values = {}) => {
      location.hash = writeAddress(view, { ...chosen(), ...values });
    },
    keep: (values) => {
      const { view } = readAddress(location.hash);
      if (app !== mine || (Object.hasOwn(VIEWS, view) && view !== shown)) return;
      visited.set(shown, writeAddress(shown, { ...chosen(), ...values }));
      history.replaceState(null, "", visited.get(shown));
    },
    follow: (word) => mine.go("word", { word }),
  };
  app = mine;
  for (const { view } of made.values()) view.leave?.();
  made.clear();
  visited.clear();
  shown = "";
  content.replaceChildren();
  showHeader();
}

// What every address has: the model and the space, if they are not the first.
function chosen() {
  return {
    model: app.model.number || undefined,
    space: app.space === app.model.spaces[0] ? undefined : app.space.name,
  };
}

function showHeader() {
  const fitting = Object.entries(VIEWS).filter(([, { fits }]) => fits?.(app) ?? true);
  const links = fitting.map(([name, { title }]) =>
    make(
      "a",
      {
        href: `#${name}`,
        onclick: (event) => {
          event.preventDefault();
          if (shown !== name) location.hash = visited.get(name) ?? writeAddress(name, chosen());
        },
      },
      title,
    ),
  );
  document.getElementById("views").replaceChildren(...links);
  const { model, space } = app;
  const again = (number, name) => {
    location.hash = writeAddress(shown, { model: number || undefined, space: name });
  };
  const choices = [];
  if (page.models.length > 1) {
    const names = page.models.map(({ name }, i) => [String(i), name]);
    choices.push(
      labelled(
        "Model",
        menu(names, String(model.number), (i) => again(Number(i))),
      ),
    );
  }
  if (model.spaces.length > 1) {
    const names = model.spaces.map(({ name, title }) => [name, title]);
    choices.push(
      labelled(
        "Vectors",
        menu(names, space.name, (name) => again(model.number, name)),
        "vectors",
      ),
    );
  }
  document.getElementById("which").replaceChildren(...choices);
}

// Offer the word that was typed first, then the most frequent ones that begin with it.
function suggest(typed) {
  const start = (typed.split(/[\s,;]+/).at(-1) ?? "").toLowerCase();
  const fitting = [];
  const exact = app.model.find(start);
  if (exact !== undefined) fitting.push(app.words[exact]);
  for (const word of app.words) {
    if (fitting.length >= SUGGESTIONS) break;
    if (start && word.toLowerCase().startsWith(start) && word !== fitting[0]) fitting.push(word);
  }
  document.getElementById("suggestions").replaceChildren(...fitting.map((word) => new Option(word, word)));
}

function redrawShown() {
  made.get(shown)?.view.redraw?.();
}

// The address of what is shown: #view?name=value&…
function readAddress(hash) {
  const [view, rest = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { view, parameters: new URLSearchParams(rest) };
}

function writeAddress(view, values) {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#${view}${given.length ? `?${parameters}` : ""}`;
}

start().catch((error) => content.replaceChildren(complaint(error)));
