// The map: all words on two features, on two axes of one's own words, or beside their neighbours.

import { colourChoices, colouring } from "./colouring.js";
import { button, complaint, fillMenu, labelled, make, menu } from "./dom.js";
import { addressOf, readState, startingState } from "./mapstate.js";
import { placesOf } from "./places.js";
import { saveButtons } from "./saving.js";
import { selectionPanel } from "./selection.js";
import { axisTitle, featureChoices, headed, latest, mapLook, wordTip } from "./views.js";
import { WordMap } from "./wordmap.js";

/** @typedef {import("./main.js").App} App */

/**
 * @param {HTMLElement} element
 * @param {App} app
 * @returns {import("./main.js").View}
 */
export function mapView(element, app) {
  const { words } = app;
  const state = startingState(app);
  let places = new Float32Array(0);
  let placed = ""; // what the map shows now, so that a change of colour does not move it

  // Controls.
  const by = menu(
    [
      ["features", "two features"],
      ["axes", "two axes of my words"],
      ["neighbours", "their neighbours"],
    ],
    "features",
    (value) => {
      state.by = value;
      update();
    },
  );
  const across = menu(featureChoices(app.features), "1", (value) => change({ x: Number(value) }));
  const up = menu(featureChoices(app.features), "2", (value) => change({ y: Number(value) }));
  const field = (/** @type {"xf" | "xt" | "yf" | "yt"} */ name, /** @type {string} */ label) =>
    make("input", {
      type: "text",
      size: 12,
      "aria-label": label,
      autocapitalize: "none",
      spellcheck: false,
      autocomplete: "off",
      onchange: () => change({ [name]: fields[name].value }),
    });
  /** @type {Record<"xf" | "xt" | "yf" | "yt", HTMLInputElement>} */
  const fields = {
    xf: field("xf", "Words at the left"),
    xt: field("xt", "Words at the right"),
    yf: field("yf", "Words at the bottom"),
    yt: field("yt", "Words at the top"),
  };
  const ofFeatures = make(
    "span",
    { className: "group" },
    labelled("Across", across),
    labelled("Up", up),
  );
  const ofWords = make(
    "span",
    { className: "group" },
    make("span", { className: "group" }, "Across from", fields.xf, "to", fields.xt),
    make("span", { className: "group" }, "Up from", fields.yf, "to", fields.yt),
  );
  const colours = menu(colourChoices(app), "frequency", (value) => change({ colour: value }));
  const ofColour = menu(featureChoices(app.features), "1", (value) =>
    change({ feature: Number(value) }),
  );
  const search = make("input", {
    type: "search",
    placeholder: "part of a word",
    autocapitalize: "none",
    spellcheck: false,
    autocomplete: "off",
    oninput: () => {
      state.find = search.value;
      showSearch(true);
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const wanted = state.find.trim().toLowerCase();
      const first =
        words.find((word) => word.toLowerCase() === wanted) ??
        words.find((word) => word.toLowerCase().includes(wanted));
      if (event.key === "Enter" && wanted && first !== undefined) jump(first);
    },
  });
  const matches = make("span", { className: "said", role: "status" });
  const controls = make(
    "div",
    { className: "controls" },
    labelled("Place words by", by),
    ofFeatures,
    ofWords,
    labelled("Colour by", colours),
    ofColour,
    labelled("Search", search),
    matches,
  );

  // The map itself.
  const box = make("div", {
    className: "words",
    tabIndex: 0,
    role: "application",
    "aria-label":
      "Map of words. Arrow keys move it, plus and minus zoom, zero shows all. Search finds words.",
  });
  const tip = wordTip();
  const bottom = make("div", { className: "axis across" });
  const left = make("div", { className: "axis up" });
  const lasso = button(
    "Select words",
    () => {
      map.lassoing = !map.lassoing;
      lasso.setAttribute("aria-pressed", String(map.lassoing));
      lasso.textContent = map.lassoing ? "Draw a loop around words" : "Select words";
    },
    { "aria-pressed": "false" },
  );
  const zoom = make(
    "div",
    { className: "zoom" },
    button("+", () => map.zoomBy(1.6), { "aria-label": "Zoom in" }),
    button("−", () => map.zoomBy(1 / 1.6), { "aria-label": "Zoom out" }),
    button("All", () => map.fit(), { "aria-label": "Show all words" }),
    lasso,
  );
  const legend = make("div", {});
  const panel = selectionPanel(app, select, jump);
  const waiting = make("p", { className: "waiting", role: "status", hidden: true });
  const stage = make("div", { className: "stage" }, left, box, zoom, tip.element, waiting);
  const saves = saveButtons({
    name: "map",
    picture: () => map.picture(),
    table: () => [
      ["word", "count", "x", "y"],
      ...(state.chosen.length > 1 ? state.chosen : inSight()).map((row) => [
        words[row],
        app.counts[row],
        places[2 * row],
        places[2 * row + 1],
      ]),
    ],
  });
  element.append(
    headed(
      "Map",
      "Every dot is a word. Words that are used alike lie close together. Drag to move, scroll to zoom: more words get labels.",
    ),
    controls,
    make(
      "div",
      { className: "split" },
      make("div", { className: "large" }, stage, bottom, legend, saves),
      panel.element,
    ),
  );
  const map = new WordMap(
    box,
    {
      hover,
      choose: (row) => select([row]),
      loop: select,
      covered: () => [zoom.getBoundingClientRect()],
    },
    mapLook(),
  );
  map.setWords(words);
  box.addEventListener("drawn", remember);

  const usePlaces = latest();
  const useColours = latest();

  /** @param {Partial<import("./mapstate.js").MapState>} values */
  function change(values) {
    Object.assign(state, values);
    update();
  }

  /** Bring controls and map in line with the state. */
  function update() {
    by.value = state.by;
    nameFeatures();
    ofFeatures.hidden = state.by !== "features";
    ofWords.hidden = state.by !== "axes";
    for (const [name, input] of Object.entries(fields))
      input.value = state[/** @type {"xf"} */ (name)];
    colours.value = state.colour;
    ofColour.hidden = state.colour !== "feature";
    remember();
    paint();
    return move();
  }

  /** Menus and titles with the features that are known by now. */
  function nameFeatures() {
    fillMenu(across, featureChoices(app.features), String(state.x));
    fillMenu(up, featureChoices(app.features), String(state.y));
    fillMenu(ofColour, featureChoices(app.features), String(state.feature));
  }

  /** Where words are: ask for places if they are other ones than shown. */
  function move() {
    const wanted = JSON.stringify([
      state.by,
      state.x,
      state.y,
      state.xf,
      state.xt,
      state.yf,
      state.yt,
    ]);
    if (wanted === placed) {
      look();
      return undefined;
    }
    waiting.textContent =
      state.by === "neighbours"
        ? "Looking for a map of neighbours. The first time this takes a while…"
        : "Placing words…";
    waiting.className = "waiting";
    waiting.hidden = false;
    return usePlaces(
      placesOf(app, state),
      ({ found, titles, equal }) => {
        places = found;
        placed = wanted;
        waiting.hidden = true;
        [bottom.textContent, left.textContent] = titles;
        map.place(places, { equal });
        look();
        box.dataset.shown = wanted;
      },
      (error) => {
        waiting.textContent = error instanceof Error ? error.message : String(error);
        waiting.className = "waiting unknown";
      },
    );
  }

  /** Look where the address says, once. */
  function look() {
    if (pending) map.sight = pending;
    pending = null;
  }

  function paint() {
    return useColours(
      colouring(app, state.colour, state.feature, (rows) => map.setFound(rows)),
      (made) => {
        map.setColours(made.colours);
        legend.replaceChildren(made.legend);
        legend.dataset.shown = state.colour;
      },
      (error) => legend.replaceChildren(complaint(error)),
    );
  }

  /** @param {boolean} typed whether the search was just typed */
  function showSearch(typed) {
    search.value = state.find;
    const wanted = state.find.trim().toLowerCase();
    if (!wanted) {
      map.setFound(null);
      matches.textContent = "";
    } else {
      const rows = new Set(/** @type {number[]} */ ([]));
      words.forEach((word, row) => word.toLowerCase().includes(wanted) && rows.add(row));
      map.setFound(rows);
      matches.textContent = `${rows.size.toLocaleString("en")} ${rows.size === 1 ? "word" : "words"}`;
    }
    if (typed) remember();
  }

  /** @param {number} row @param {number} x @param {number} y */
  function hover(row, x, y) {
    if (row < 0) return tip.show([], x, y);
    const count = app.counts[row]
      ? `${app.counts[row].toLocaleString("en")} times`
      : `word ${(row + 1).toLocaleString("en")}`;
    tip.show([words[row], count], x + box.offsetLeft, y);
  }

  /** @param {number[]} rows */
  function select(rows) {
    state.chosen = rows;
    map.setChosen(rows);
    if (map.lassoing) lasso.click();
    remember();
    panel.show(state.chosen);
  }

  /** @param {string} word */
  function jump(word) {
    const row = app.find(word);
    if (row === undefined) return;
    const [x, y] = map.pixel(row);
    if (x < 0 || y < 0 || x > box.clientWidth || y > box.clientHeight) map.centreOn(row);
    select([row]);
  }

  function inSight() {
    const rows = [];
    for (let row = 0; row < words.length; row++) {
      const [x, y] = map.pixel(row);
      if (x >= 0 && y >= 0 && x <= box.clientWidth && y <= box.clientHeight) rows.push(row);
    }
    return rows;
  }

  /** @type {[number, number, number] | null} where the address looks, until words have places */
  let pending = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let later;

  function remember() {
    clearTimeout(later);
    later = setTimeout(() => {
      if (element.hidden) return;
      app.keep(addressOf(state, words, map.sight));
    }, 150);
  }

  return {
    async show(parameters) {
      pending = readState(state, app, parameters);
      map.setChosen(state.chosen);
      showSearch(false);
      panel.show(state.chosen);
      await update();
    },
    refresh() {
      nameFeatures();
      if (state.colour === "feature") paint();
      if (state.by !== "features") return;
      bottom.textContent = axisTitle(app.features, state.x);
      left.textContent = axisTitle(app.features, state.y);
    },
    redraw() {
      paint();
      map.redraw();
    },
  };
}
