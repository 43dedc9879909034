// The map: all words by topic, on two features, or on two axes of one's own words.

import { colourChoices, colouring, legendPicture } from "./colouring.js";
import { axisOf } from "./directions.js";
import {
  button,
  complaint,
  foundList,
  intro,
  labelled,
  latest,
  make,
  menu,
  note,
  numberIn,
  whole,
  wordField,
} from "./dom.js";
import { axisTitle, featureChoices } from "./features.js";
import { saveButtons, stackDrawings } from "./saving.js";
import { colour, groupColour, isDark, parseRgb } from "./theme.js";
import { WordMap } from "./wordmap.js";

const WAYS = [
  ["topics", "topic"],
  ["features", "two features"],
  ["axes", "two axes of my words"],
];
const LISTED = 60; // selected words that are listed; all of them are in the table
const ENDS = {
  xf: "Words at the left",
  xt: "Words at the right",
  yf: "Words at the bottom",
  yt: "Words at the top",
};

// The colours of maps, which change with the theme.
export function mapLook(ink = "ink") {
  return {
    ink: () => colour(ink),
    halo: () => colour("card"),
    accent: () => colour("warm"),
    rule: () => colour("rule"),
    paper: () => parseRgb(colour("card")),
  };
}

// A box that a map fills, with a note beside the word under the pointer.
export function mapBox(label) {
  const box = make("div.words", { tabIndex: 0, role: "application", "aria-label": label });
  const tip = make("div.tip", { hidden: true, "aria-hidden": "true" });
  const hover = (lines, x, y) => {
    tip.hidden = !lines.length;
    if (!lines.length) return;
    tip.replaceChildren(make("b", lines[0]), ...lines.slice(1).map((line) => make("span", line)));
    const room = tip.parentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(4, Math.min(x + 12, room))}px`;
    tip.style.top = `${Math.min(y + 12, box.clientHeight - tip.offsetHeight - 4)}px`;
  };
  return { box, tip, hover };
}

// Topics as the map shows them: a title in a colour at a place.
export function topicTitles(model) {
  const dark = isDark();
  return model.topics.map(({ title, place, colour: group }) => ({
    title,
    place,
    colour: groupColour(dark, group),
  }));
}

// Places of all words by topic, x and y in turn.
export async function topicPlaces(model) {
  const all = await model.matrix("map");
  return interleave(all.column(0), all.column(1));
}

export function mapView(element, app) {
  const { model, words } = app;
  const features = featureChoices(model, app.space.remote ? 32 : Infinity);
  const state = {
    by: "topics",
    x: 1,
    y: Math.min(2, features.length),
    xf: "",
    xt: "",
    yf: "",
    yt: "",
    colour: "topic",
    feature: 1,
    find: "",
    chosen: [],
  };
  let places = new Float32Array(0);
  let placed = ""; // what the map shows now, so that a change of colour does not move it
  let key = { title: "" }; // what colours mean, for a saved picture
  let pending = null; // where the address looks, until words have places
  const [usePlaces, useColours, usePanel] = [latest(), latest(), latest()];

  const change = (values) => {
    Object.assign(state, values);
    update();
  };
  const by = menu(WAYS, "topics", (value) => change({ by: value }));
  const across = menu(features, "1", (value) => change({ x: Number(value) }));
  const up = menu(features, "2", (value) => change({ y: Number(value) }));
  const fields = Object.fromEntries(
    Object.entries(ENDS).map(([name, label]) => [
      name,
      wordField("", {
        size: 12,
        "aria-label": label,
        onchange: () => change({ [name]: fields[name].value }),
      }),
    ]),
  );
  const group = (...children) => make("span.group", ...children);
  const ofFeatures = group(labelled("Across", across), labelled("Up", up));
  const ofWords = group(
    group("Across from", fields.xf, "to", fields.xt),
    group("Up from", fields.yf, "to", fields.yt),
  );
  const colours = menu(colourChoices(app), "topic", (value) => change({ colour: value }));
  const ofColour = menu(features, "1", (value) => change({ feature: Number(value) }));
  const search = wordField("", {
    type: "search",
    placeholder: "find a word",
    oninput: () => {
      state.find = search.value;
      showSearch();
      remember();
    },
    onkeydown: ({ key }) => key === "Enter" && foundWords().length && jump(words[foundWords()[0]]),
  });
  const matches = make("span.said", { role: "status" });

  const { box, tip, hover } = mapBox(
    "Map of words. Arrow keys move it, plus and minus zoom, zero shows all. Search finds words.",
  );
  const bottom = make("div.axis.across");
  const left = make("div.axis.up");
  const lasso = button(
    "Select words",
    () => {
      map.lassoing = !map.lassoing;
      lasso.setAttribute("aria-pressed", String(map.lassoing));
      lasso.textContent = map.lassoing ? "Draw a loop" : "Select words";
    },
    { "aria-pressed": "false" },
  );
  const zoom = make(
    "div.zoom",
    button("+", () => map.zoomBy(1.6), { "aria-label": "Zoom in" }),
    button("−", () => map.zoomBy(1 / 1.6), { "aria-label": "Zoom out" }),
    button("All", () => map.fit(), { "aria-label": "Show all words" }),
    lasso,
  );
  const legend = make("div");
  const panel = make("aside.aside", { "aria-live": "polite", "aria-label": "Selected words" });
  const waiting = make("p.waiting", { role: "status", hidden: true });
  const stage = make("div.stage", left, box, zoom, tip, waiting);
  element.append(
    intro(
      "Map",
      "Each dot is a word, and similar words are close together. Drag to move; scroll to zoom in, and more words get labels. Press a word to see its neighbours.",
    ),
    make(
      "div.controls",
      labelled("Find", search),
      matches,
      labelled("Place words by", by),
      ofFeatures,
      ofWords,
      labelled("Colour by", colours),
      ofColour,
    ),
    make("div.split", make("div.large", stage, bottom, legend), panel),
    saveButtons({
      name: "map",
      drawing: () =>
        stackDrawings([
          map.drawing("Map of words"),
          legendPicture(key, [bottom.textContent, left.textContent], box.clientWidth),
        ]),
      table: () => [
        ["word", "count", "topic", "x", "y"],
        ...(state.chosen.length > 1 ? state.chosen : inSight()).map((row) => [
          words[row],
          model.counts[row],
          model.topics[model.labels[row]].title,
          places[2 * row],
          places[2 * row + 1],
        ]),
      ],
    }),
  );
  const map = new WordMap(
    box,
    {
      hover: (row, x, y) =>
        hover(row < 0 ? [] : [words[row], `${whole(model.counts[row])} times`], x + box.offsetLeft, y),
      choose: (row) => select([row]),
      loop: (rows) => {
        lasso.click();
        select(rows);
      },
      covered: () => [zoom.getBoundingClientRect()],
    },
    mapLook(),
  );
  map.setWords(words, model.quiet);
  box.addEventListener("drawn", () => remember());

  // Bring controls and map in line with the state.
  function update() {
    [by.value, across.value, up.value] = [state.by, String(state.x), String(state.y)];
    [colours.value, ofColour.value] = [state.colour, String(state.feature)];
    ofFeatures.hidden = state.by !== "features";
    ofWords.hidden = state.by !== "axes";
    for (const [name, input] of Object.entries(fields)) input.value = state[name];
    ofColour.hidden = state.colour !== "feature";
    remember();
    paint();
    return move();
  }

  // Where words are: x and y in turn, and how the map shows them.
  async function find() {
    if (state.by === "topics") {
      const how = { axes: false, topics: topicTitles(model) };
      return { found: await topicPlaces(model), titles: ["", ""], how };
    }
    if (state.by === "axes") {
      const ends = [
        [state.xf, state.xt],
        [state.yf, state.yt],
      ];
      const lines = await Promise.all(
        ends.map(async ([from, to]) =>
          app.space.cosines((await axisOf(model, app.space, from, to)).direction),
        ),
      );
      return {
        found: interleave(...lines),
        titles: ends.map(([from, to]) => `← ${from} · ${to} →`),
        how: {},
      };
    }
    const space = model.featureSpace;
    const rows = await space.rows();
    const columns = [state.x, state.y].map((k) =>
      rows.column(k - 1).map((value) => value * space.weights[k - 1]),
    );
    return {
      found: interleave(...columns),
      titles: [state.x, state.y].map((k) => axisTitle(model, k)),
      how: {},
    };
  }

  function move() {
    const { by: way, x, y, xf, xt, yf, yt } = state;
    const wanted = JSON.stringify(
      way === "topics" ? [way] : way === "features" ? [way, x, y] : [way, xf, xt, yf, yt],
    );
    if (wanted === placed) return look();
    waiting.textContent = "Placing words…";
    waiting.className = "waiting";
    waiting.hidden = false;
    return usePlaces(
      find(),
      ({ found, titles, how }) => {
        places = found;
        placed = wanted;
        waiting.hidden = true;
        [bottom.textContent, left.textContent] = titles;
        map.place(places, how);
        look();
        box.dataset.shown = wanted;
      },
      (error) => {
        waiting.textContent = error.message;
        waiting.className = "waiting unknown";
      },
    );
  }

  // Look where the address says, once.
  function look() {
    if (pending) map.position = pending;
    pending = null;
  }

  function paint() {
    return useColours(
      colouring(app, state.colour, state.feature, (rows) => map.setFound(rows)),
      (painted) => {
        map.setColours(painted.colours);
        legend.replaceChildren(painted.legend);
        key = painted.key;
        legend.dataset.shown = state.colour;
      },
      (error) => legend.replaceChildren(complaint(error)),
    );
  }

  // Words that were searched for: the word itself first, then those that begin with it.
  function foundWords() {
    const wanted = state.find.trim().toLowerCase();
    if (!wanted) return [];
    const rows = [];
    words.forEach((word, row) => word.toLowerCase().startsWith(wanted) && rows.push(row));
    const exact = model.find(wanted);
    return exact === undefined ? rows : [exact, ...rows.filter((row) => row !== exact)];
  }

  function showSearch() {
    search.value = state.find;
    const rows = foundWords();
    map.setFound(state.find.trim() ? new Set(rows) : null);
    matches.textContent = state.find.trim()
      ? `${whole(rows.length)} ${rows.length === 1 ? "word" : "words"}`
      : "";
  }

  function select(rows) {
    state.chosen = rows;
    map.setChosen(rows);
    remember();
    showPanel();
  }

  function jump(word) {
    const row = model.find(word);
    const [x, y] = map.pixel(row);
    if (x < 0 || y < 0 || x > box.clientWidth || y > box.clientHeight) map.centreOn(row);
    select([row]);
  }

  function showPanel() {
    const rows = state.chosen;
    const clear = button("Clear", () => select([]));
    if (rows.length === 1) {
      const word = words[rows[0]];
      const find = async () => app.space.nearest((await app.space.vectors(rows))[0], 12, rows);
      return usePanel(
        find(),
        (found) =>
          panel.replaceChildren(
            make("h2", word),
            note(
              `${whole(model.counts[rows[0]])} times, in the topic “${model.topics[model.labels[rows[0]]].title}”. Its nearest words:`,
            ),
            foundList(
              found.map(([row, cosine]) => [words[row], cosine]),
              jump,
            ),
            make(
              "div.save",
              button("More about this word", () => app.follow(word)),
              clear,
            ),
          ),
        (error) => panel.replaceChildren(complaint(error)),
      );
    }
    const listed = rows.slice(0, LISTED).map((row) =>
      make(
        "li",
        button(words[row], () => select([row]), { className: "word" }),
      ),
    );
    const parts = rows.length
      ? [
          make("h2", `${whole(rows.length)} words`),
          make("ul.several", ...listed),
          rows.length > LISTED ? note("These are the most frequent; Save table saves all.") : "",
          make("div.save", clear),
        ]
      : [note("Press a word to see its neighbours, or select several with a loop.")];
    return usePanel(Promise.resolve(), () => panel.replaceChildren(...parts));
  }

  function inSight() {
    return [...words.keys()].filter((row) => {
      const [x, y] = map.pixel(row);
      return x >= 0 && y >= 0 && x <= box.clientWidth && y <= box.clientHeight;
    });
  }

  let later;
  function remember() {
    clearTimeout(later);
    later = setTimeout(() => {
      if (element.hidden) return;
      const { by: way, x, y, xf, xt, yf, yt, colour: shade, feature, find: sought, chosen } = state;
      const moved = map.position.some((value, i) => value !== [1, 0, 0][i]);
      app.keep({
        by: way === "topics" ? undefined : way,
        ...(way === "features" ? { x, y } : {}),
        ...(way === "axes" ? { xf, xt, yf, yt } : {}),
        colour: shade === "topic" ? undefined : shade,
        feature: shade === "feature" ? feature : undefined,
        find: sought,
        word: chosen.length === 1 ? words[chosen[0]] : undefined,
        at: moved ? map.position.map((value) => Number(value.toPrecision(5))).join(",") : undefined,
      });
    }, 150);
  }

  return {
    async show(parameters) {
      const of = (name, choices) =>
        choices.some(([value]) => value === parameters.get(name)) ? parameters.get(name) : choices[0][0];
      const rank = (name, otherwise) =>
        Math.round(numberIn(parameters.get(name), otherwise, 1, features.length));
      Object.assign(state, {
        by: of("by", WAYS),
        colour: of("colour", colourChoices(app)),
        x: rank("x", state.x),
        y: rank("y", state.y),
        feature: rank("feature", 1),
        find: parameters.get("find") ?? "",
      });
      for (const name of Object.keys(ENDS)) state[name] = parameters.get(name) ?? state[name];
      const row = model.find(parameters.get("word") ?? "");
      state.chosen = row === undefined ? [] : [row];
      const at = (parameters.get("at") ?? "").split(",").map(Number);
      pending = at.length === 3 ? at : null;
      map.setChosen(state.chosen);
      showSearch();
      showPanel();
      await update();
    },
    redraw() {
      if (state.by === "topics" && places.length)
        map.place(places, { axes: false, topics: topicTitles(model), keep: true });
      paint();
      map.redraw();
    },
    leave: () => hover([]),
  };
}

function interleave(xs, ys) {
  const found = new Float32Array(2 * xs.length);
  for (let row = 0; row < xs.length; row++) found.set([xs[row], ys[row]], 2 * row);
  return found;
}
