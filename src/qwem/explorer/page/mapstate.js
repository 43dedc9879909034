// What the map shows, and how an address says it.

import { numberIn } from "./address.js";
import { colourChoices } from "./colouring.js";

/** @typedef {import("./main.js").App} App */
/** @typedef {ReturnType<typeof startingState>} MapState */

const WAYS = ["features", "axes", "neighbours"];
const ENDS = /** @type {const} */ (["xf", "xt", "yf", "yt"]);

/**
 * Words by the first two features, coloured by their frequency.
 * @param {App} app
 */
export function startingState(app) {
  return {
    by: "features",
    x: 1,
    y: Math.min(2, app.space.dim),
    xf: "", // words at the ends of axes: across from and to, up from and to
    xt: "",
    yf: "",
    yt: "",
    colour: "frequency",
    feature: 1,
    find: "",
    chosen: /** @type {number[]} */ ([]),
  };
}

/**
 * Take over what an address says, and return where it looks, if it does.
 * @param {MapState} state
 * @param {App} app
 * @param {URLSearchParams} parameters
 * @returns {[number, number, number] | null}
 */
export function readState(state, app, parameters) {
  const ranks = app.choosable;
  const wanted = parameters.get("by") ?? "features";
  state.by = WAYS.includes(wanted) ? wanted : "features";
  state.x = Math.round(numberIn(parameters.get("x"), state.x, 1, ranks));
  state.y = Math.round(numberIn(parameters.get("y"), state.y, 1, ranks));
  for (const name of ENDS) state[name] = parameters.get(name) ?? state[name];
  const shade = parameters.get("colour") ?? "frequency";
  state.colour = colourChoices(app).some(([value]) => value === shade) ? shade : "frequency";
  state.feature = Math.round(numberIn(parameters.get("feature"), 1, 1, ranks));
  state.find = parameters.get("find") ?? "";
  const row = app.find(parameters.get("word") ?? "");
  state.chosen = row === undefined ? [] : [row];
  const sight = (parameters.get("at") ?? "").split(",").map(Number);
  return sight.length === 3 ? [sight[0], sight[1], sight[2]] : null;
}

/**
 * What an address has to say of a state; what is as at the start is left out.
 * @param {MapState} state
 * @param {string[]} words
 * @param {[number, number, number]} sight
 */
export function addressOf(state, words, sight) {
  const { by, x, y, xf, xt, yf, yt, colour, feature, find, chosen } = state;
  const moved = sight.some((value, i) => value !== [1, 0, 0][i]);
  return {
    by: by === "features" ? undefined : by,
    ...(by === "features" ? { x, y } : {}),
    ...(by === "axes" ? { xf, xt, yf, yt } : {}),
    colour: colour === "frequency" ? undefined : colour,
    feature: colour === "feature" ? feature : undefined,
    find,
    word: chosen.length === 1 ? words[chosen[0]] : undefined,
    at: moved ? sight.map((value) => Number(value.toPrecision(5))).join(",") : undefined,
  };
}
