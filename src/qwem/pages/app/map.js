// The map: all words by topic, on two features, or on two axes of one's own words.

import { colourChoices, colouring, legendPicture } from "./colouring.js";
import { axisOf } from "./directions.js";
import {
  addressState,
  button,
  filler,
  formatCount,
  foundList,
  intro,
  labelled,
  make,
  menu,
  note,
  wordButton,
  wordField,
} from "./dom.js";
import { axisTitle, featureChoices } from "./features.js";
import { saveButtons, stackDrawings } from "./saving.js";
import { topicColour } from "./theme.js";
import { mapStage } from "./wordmap.js";

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

// Where words are by topic, x and y in turn, and how a map shows them.
export async function placesByTopic(model) {
  const all = await model.matrix("map");
  const titles = model.topics.filter(({ general }) => !general);
  const topics = titles.map((topic) => ({ ...topic, fill: topicColour(topic) }));
  return { places: interleave(all.column(0), all.column(1)), how: { axes: false, topics } };
}

export function mapView(element, app) {
  const { model, space, words } = app;
  const features = featureChoices(model, model.featureSpace.columns);
  const shades = colourChoices(app);
  const rank = [1, features.length, true];
  const defaults = { by: "topics", x: 1, y: Math.min(2, features.length), xf: "", xt: "", yf: "", yt: "" };
  const { state, read, keepSoon } = addressState(
    app,
    { ...defaults, colour: "topic", feature: 1, find: "", word: "", at: "" },
    { x: rank, y: rank, feature: rank },
  );
  let chosen = []; // the rows of the words that are selected
  let shown = { places: new Float32Array(0), titles: [] };
  let placed = ""; // what the map shows now, so that a change of colour does not move it
  let key = { title: "" }; // what colours mean, for a saved picture

  const change = (values) => {
    Object.assign(state, values);
    return update();
  };
  const by = menu(WAYS, "topics", (value) => change({ by: value }));
  const [across, up, ofColour] = ["x", "y", "feature"].map((name) =>
    menu(features, "1", (value) => change({ [name]: Number(value) })),
  );
  const fields = Object.fromEntries(
    Object.entries(ENDS).map(([name, label]) => {
      const onchange = () => change({ [name]: fields[name].value });
      return [name, wordField("", { size: 12, "aria-label": label, onchange })];
    }),
  );
  const group = (...children) => make("span.group", ...children);
  const ofFeatures = group(labelled("Across", across), labelled("Up", up));
  const ofWords = group(
    group("Across from", fields.xf, "to", fields.xt),
    group("Up from", fields.yf, "to", fields.yt),
  );
  const colours = menu(shades, "topic", (value) => change({ colour: value }));
  const search = wordField("", {
    type: "search",
    placeholder: "find a word",
    oninput: () => {
      state.find = search.value;
      showSearch();
      remember();
    },
    onkeydown: ({ key: pressed }) =>
      pressed === "Enter" && foundWords().length && jump(words[foundWords()[0]]),
  });
  const matches = make("span.said", { role: "status" });
  const lasso = button("Select words", () => setLasso(!map.lassoing), { "aria-pressed": "false" });
  const stage = mapStage({
    label: "Map of words. Search finds words.",
    model,
    buttons: [lasso],
    choose: (row) => select([row]),
    loop: (rows) => {
      setLasso(false);
      select(rows);
    },
  });
  const { map, box } = stage;
  const legend = make("div");
  const panel = make("aside.aside", { "aria-live": "polite", "aria-label": "Selected words" });
  const [fillLegend, fillPanel] = [filler(legend), filler(panel)];
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
    make("div.split", make("div.large", stage.element, legend), panel),
    saveButtons({
      name: "map",
      drawing: () =>
        stackDrawings([map.drawing("Map of words"), legendPicture(key, shown.titles, box.clientWidth)]),
      table: () => [
        ["word", "count", "topic", "x", "y"],
        ...(chosen.length > 1 ? chosen : inSight()).map((row) => [
          words[row],
          model.counts[row],
          model.topicOf(row)?.title ?? "",
          shown.places[2 * row],
          shown.places[2 * row + 1],
        ]),
      ],
    }),
  );
  box.addEventListener("drawn", () => remember());

  function setLasso(on) {
    map.lassoing = on;
    lasso.setAttribute("aria-pressed", String(on));
    lasso.textContent = on ? "Draw a loop" : "Select words";
  }

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

  // Where words are: x and y in turn, the titles of the axes, and how the map shows them.
  async function find() {
    if (state.by === "topics") return { titles: ["", ""], ...(await placesByTopic(model)) };
    if (state.by === "axes") {
      const ends = [
        [state.xf, state.xt],
        [state.yf, state.yt],
      ];
      const cosines = async ([from, to]) => space.cosines((await axisOf(model, space, from, to)).direction);
      const lines = await Promise.all(ends.map(cosines));
      return { places: interleave(...lines), titles: ends.map(([from, to]) => `← ${from} · ${to} →`) };
    }
    const ranks = [state.x, state.y];
    const columns = await Promise.all(ranks.map((k) => model.featureSpace.column(k - 1)));
    return { places: interleave(...columns), titles: ranks.map((k) => axisTitle(model, k)) };
  }

  async function move() {
    const { by: way, x, y, xf, xt, yf, yt } = state;
    const wanted = JSON.stringify({ topics: [way], features: [way, x, y], axes: [way, xf, xt, yf, yt] }[way]);
    const at = state.at.split(",").map(Number);
    if (wanted !== placed) {
      placed = wanted;
      const found = await stage.load(find());
      if (placed !== wanted) return; // another change came first
      if (!found) {
        placed = "";
        return;
      }
      shown = found;
      stage.setTitles(shown.titles);
      map.place(shown.places, shown.how);
      box.dataset.shown = wanted;
    }
    if (at.length === 3) map.position = at;
  }

  function paint() {
    return fillLegend(
      colouring(app, state.colour, state.feature, (rows) => map.setFound(rows)),
      (painted) => {
        map.setColours(painted.colours);
        key = painted.key;
        legend.dataset.shown = state.colour;
        return [painted.legend];
      },
    );
  }

  // Words that were searched for: the word itself first, then those that begin with it.
  function foundWords() {
    const wanted = state.find.trim().toLowerCase();
    if (!wanted) return [];
    const rows = [...words.keys()].filter((row) => words[row].toLowerCase().startsWith(wanted));
    const exact = model.find(wanted);
    return exact === undefined ? rows : [exact, ...rows.filter((row) => row !== exact)];
  }

  function showSearch() {
    search.value = state.find;
    const rows = foundWords();
    const searched = state.find.trim() !== "";
    map.setFound(searched ? new Set(rows) : null);
    matches.textContent = searched
      ? `${formatCount(rows.length)} ${rows.length === 1 ? "word" : "words"}`
      : "";
  }

  function select(rows) {
    chosen = rows;
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
    const clear = button("Clear", () => select([]));
    if (!chosen.length)
      return fillPanel(null, () => [
        note("Press a word to see its neighbours, or select several with a loop."),
      ]);
    if (chosen.length === 1) {
      const [row] = chosen;
      const said = `${formatCount(model.counts[row])} times, ${model.topicNote(row)}.`;
      return fillPanel(space.neighbours(row, 12), (found) => [
        make("h2", words[row]),
        note(`${said} Its nearest words:`),
        foundList(found, jump),
        make(
          "div.save",
          button("More about this word", () => app.follow(words[row])),
          clear,
        ),
      ]);
    }
    const listed = chosen.slice(0, LISTED).map((row) =>
      make(
        "li",
        wordButton(words[row], () => select([row])),
      ),
    );
    return fillPanel(null, () => [
      make("h2", `${formatCount(chosen.length)} words`),
      make("ul.several", ...listed),
      chosen.length > LISTED ? note("These are the most frequent; Save table saves all.") : null,
      make("div.save", clear),
    ]);
  }

  function inSight() {
    return [...words.keys()].filter((row) => {
      const [x, y] = map.pixel(row);
      return x >= 0 && y >= 0 && x <= box.clientWidth && y <= box.clientHeight;
    });
  }

  function remember() {
    keepSoon(() => {
      const moved = map.position.some((value, i) => value !== [1, 0, 0][i]);
      state.at = moved ? map.position.map((value) => Number(value.toPrecision(5))).join(",") : "";
      state.word = chosen.length === 1 ? words[chosen[0]] : "";
      return !element.hidden;
    });
  }

  return {
    async show(parameters) {
      read(parameters);
      const known = (choices, value) => choices.some(([each]) => each === value);
      if (!known(WAYS, state.by)) state.by = "topics";
      if (!known(shades, state.colour)) state.colour = "topic";
      const row = model.find(state.word);
      chosen = row === undefined ? [] : [row];
      map.setChosen(chosen);
      showSearch();
      showPanel();
      await update();
    },
    async redraw() {
      if (state.by === "topics" && shown.how)
        map.place(shown.places, { ...(await placesByTopic(model)).how, keep: true });
      paint();
      map.redraw();
    },
    leave: stage.leave,
  };
}

function interleave(xs, ys) {
  const found = new Float32Array(2 * xs.length);
  for (let row = 0; row < xs.length; row++) found.set([xs[row], ys[row]], 2 * row);
  return found;
}
