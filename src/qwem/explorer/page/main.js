// The page: finds its data, shows the view that the address names, and keeps the address right.

import { startThemes } from "./components/theme.js";
import { startTips } from "./components/tips.js";
import { suggest } from "./components/words.js";
import { readAddress, writeAddress } from "./address.js";
import { analogyView } from "./analogies.js";
import { axisView } from "./axes.js";
import { compareView } from "./compare.js";
import { conceptView } from "./concepts.js";
import { complaint, labelled, make, menu } from "./dom.js";
import { EmbeddedSource } from "./embedded.js";
import { featureView } from "./features.js";
import { mapView } from "./mapview.js";
import { ServedSource } from "./source.js";
import { timeView } from "./time.js";
import { wordView } from "./word.js";

/**
 * What a view is given.
 * @typedef {object} App
 * @property {import("./source.js").Source} source
 * @property {import("./source.js").ModelFacts[]} models
 * @property {boolean} compare
 * @property {import("./source.js").ModelFacts} model
 * @property {import("./source.js").Space} space
 * @property {string[]} words of the model, the most frequent first
 * @property {number[]} counts
 * @property {(typed: string) => number | undefined} find
 * @property {import("./source.js").FeatureFacts[]} features the first ones of the space
 * @property {number} choosable how many features there will be once all are read
 * @property {(view: string, values?: Record<string, string | number | undefined>) => void} go show a view
 * @property {(values: Record<string, string | number | undefined | null>) => void} keep remember in the address
 * @property {(word: string) => void} follow show a word
 */

/**
 * A view: made once for each model and space, then told what to show, when colours have changed, when
 * more features are known, and when another view is shown.
 * @typedef {object} View
 * @property {(parameters: URLSearchParams) => void | Promise<void>} show
 * @property {() => void} [redraw]
 * @property {() => void} [refresh]
 * @property {() => void} [leave]
 */

/** @type {Record<string, { title: string, make: (element: HTMLElement, app: App) => View, fits?: (app: App) => boolean }>} */
const VIEWS = {
  map: { title: "Map", make: mapView },
  time: { title: "Time", make: timeView, fits: (app) => app.model.spaces.some(({ time }) => time) },
  features: { title: "Features", make: featureView },
  word: { title: "Word", make: wordView },
  analogies: { title: "Analogies", make: analogyView },
  concepts: { title: "Concepts", make: conceptView },
  axes: { title: "Axes", make: axisView },
  compare: { title: "Compare", make: compareView, fits: (app) => app.compare },
};

const FIRST_FEATURES = 24; // so many are read before the first view, and the others after it
const FEATURES = 100; // so many can be chosen by their words

const content = /** @type {HTMLElement} */ (document.getElementById("content"));
/** @type {App | null} */
let app = null;
/** @type {Map<string, { element: HTMLElement, view: View }>} */
const made = new Map();
let shown = "";
/** @type {Map<string, string>} the address that each view had when it was left */
const visited = new Map();
let changing = false; // while another model is read, no view may write its state into the address

async function start() {
  const data = document.getElementById("explorer-data");
  const source = data ? new EmbeddedSource(JSON.parse(data.textContent ?? "")) : new ServedSource();
  const { models, compare } = await source.models();
  const { parameters } = readAddress(location.hash);
  const number = Number(parameters.get("model") ?? 0);
  await choose(source, models, compare, number, parameters.get("space") ?? "", location.hash);
  addEventListener("hashchange", ({ newURL }) => follow(new URL(newURL).hash));
  addEventListener("resize", redrawShown);
  startThemes(redrawShown);
  startTips();
  const suggestions = /** @type {HTMLDataListElement} */ (document.getElementById("suggestions"));
  document.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLInputElement && target.getAttribute("list") === "suggestions") {
      suggest(suggestions, app?.words ?? [], target.value);
    }
  });
}

/**
 * Take a model and one of its spaces, and show the view of the address with it.
 * @param {import("./source.js").Source} source
 * @param {import("./source.js").ModelFacts[]} models
 * @param {boolean} compare
 * @param {number} number
 * @param {string} wanted
 * @param {string} hash
 */
async function choose(source, models, compare, number, wanted, hash) {
  changing = true;
  const model = models[number] ?? models[0];
  const space = model.spaces.find((one) => one.space === wanted) ?? model.spaces[0];
  const [{ words, counts }, { features }] = await Promise.all([
    source.words(model.id),
    source.features(model.id, space.space, Math.min(FIRST_FEATURES, space.dim)),
  ]);
  /** @type {Map<string, number> | null} */
  let index = null;
  /** @type {App} */
  const mine = {
    source,
    models,
    compare,
    model,
    space,
    words,
    counts,
    features,
    choosable: Math.min(FEATURES, space.dim),
    find(typed) {
      index ??= new Map(words.map((word, row) => [word, row]));
      return index.get(typed.trim()) ?? index.get(typed.trim().toLowerCase());
    },
    go: (view, values = {}) => {
      location.hash = writeAddress(view, { ...kept(), ...values });
    },
    keep: (values) => {
      const { view } = readAddress(location.hash);
      if (app !== mine || changing || (Object.hasOwn(VIEWS, view) && view !== shown)) return;
      visited.set(shown, writeAddress(shown, { ...kept(), ...values }));
      history.replaceState(null, "", visited.get(shown));
    },
    follow: (word) => mine.go("word", { word }),
  };
  app = mine;
  changing = false;
  for (const { view } of made.values()) view.leave?.();
  made.clear();
  visited.clear();
  shown = "";
  content.replaceChildren();
  showHeader(app);
  showAbout(app);
  await follow(hash);
  if (mine.choosable > features.length) {
    ({ features: mine.features } = await source.features(model.id, space.space, mine.choosable));
    if (app === mine) for (const { view } of made.values()) view.refresh?.();
  }
}

/** What every address has: the model and the space, if they are not the first. */
function kept() {
  if (!app) return {};
  const number = app.models.indexOf(app.model);
  return {
    model: number || undefined,
    space: app.space === app.model.spaces[0] ? undefined : app.space.space,
  };
}

/**
 * Show what the address says.
 * @param {string} hash
 */
async function follow(hash) {
  if (!app) return;
  const { view, parameters } = readAddress(hash);
  if (view === "content") return content.focus();
  const number = Number(parameters.get("model") ?? 0);
  const space = parameters.get("space") ?? app.models[number]?.spaces[0].space ?? "";
  const other = app.models[number] && app.models[number] !== app.model;
  if (other || (space !== app.space.space && app.model.spaces.some((one) => one.space === space))) {
    return choose(app.source, app.models, app.compare, number, space, hash);
  }
  const fitting = Object.hasOwn(VIEWS, view) && (VIEWS[view].fits?.(app) ?? true);
  const name = fitting ? view : "map";
  visited.set(name, hash);
  if (shown !== name) {
    made.get(shown)?.view.leave?.();
    for (const { element } of made.values()) element.hidden = true;
    shown = name;
  }
  let one = made.get(name);
  if (one) one.element.hidden = false;
  else {
    const element = content.appendChild(
      make("section", { className: `view ${name}`, "aria-label": VIEWS[name].title }),
    );
    one = { element, view: VIEWS[name].make(element, app) };
    made.set(name, one);
  }
  document.title = `${VIEWS[name].title} · ${app.model.name}`;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.getAttribute("href") === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  await one.view.show(fitting ? parameters : new URLSearchParams());
}

/** @param {App} now */
function showHeader(now) {
  const links = Object.entries(VIEWS)
    .filter(([, { fits }]) => fits?.(now) ?? true)
    .map(([name, { title }]) => {
      const open = (/** @type {Event} */ event) => {
        event.preventDefault();
        if (shown !== name) location.hash = visited.get(name) ?? writeAddress(name, kept());
      };
      return make("a", { href: `#${name}`, textContent: title, onclick: open });
    });
  document.getElementById("views")?.replaceChildren(...links);
  const again = (/** @type {number} */ number, /** @type {string} */ space) => {
    location.hash = writeAddress(shown, { model: number || undefined, space });
  };
  const parts = [];
  if (now.models.length > 1) {
    const names = now.models.map(
      ({ name }, i) => /** @type {[string, string]} */ ([String(i), name]),
    );
    const number = now.models.indexOf(now.model);
    parts.push(
      labelled(
        "Model",
        menu(names, String(number), (value) => again(Number(value), "")),
      ),
    );
  }
  if (now.model.spaces.length > 1) {
    const names = now.model.spaces.map(
      ({ space, title }) => /** @type {[string, string]} */ ([space, title]),
    );
    const number = now.models.indexOf(now.model);
    parts.push(
      labelled(
        "Vectors",
        menu(names, now.space.space, (value) => again(number, value)),
      ),
    );
  }
  document.getElementById("which")?.replaceChildren(...parts);
}

/** @param {App} now */
function showAbout(now) {
  const tiles = now.model.facts.map(([number, label]) =>
    make("div", {}, make("dt", { textContent: label }), make("dd", { textContent: number })),
  );
  const story = now.model.story.map((text) => make("p", { textContent: text }));
  document
    .getElementById("about")
    ?.replaceChildren(
      make(
        "details",
        {},
        make("summary", { textContent: `About this model: ${now.model.name}` }),
        make("dl", { className: "tiles" }, ...tiles),
        ...story,
      ),
    );
}

function redrawShown() {
  made.get(shown)?.view.redraw?.();
}

start().catch((error) => content.replaceChildren(complaint(error)));
