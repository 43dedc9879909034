// Places of words on the map: on two features, on two axes of one's own words, or by neighbours.

import { axisTitle, typedWords } from "./views.js";

/**
 * Where words are, x and y in turn, with the titles of both axes and whether they have one scale.
 * @param {import("./main.js").App} app
 * @param {{ by: string, x: number, y: number, xf: string, xt: string, yf: string, yt: string }} state
 * @returns {Promise<{ found: Float32Array<ArrayBuffer>, titles: [string, string], equal: boolean }>}
 */
export async function placesOf(app, state) {
  const { source, words } = app;
  const found = new Float32Array(2 * words.length);
  const m = app.model.id;
  if (state.by === "neighbours") {
    const layout = await source.layout(m, app.space.space);
    for (let row = 0; row < words.length; row++) {
      found[2 * row] = layout[row];
      found[2 * row + 1] = layout[words.length + row];
    }
    return {
      found,
      titles: ["Near words are neighbours; directions have no meaning", ""],
      equal: true,
    };
  }
  if (state.by === "axes") {
    const ends = [
      [state.xf, state.xt],
      [state.yf, state.yt],
    ].map((two) => two.map(typedWords));
    if (!ends.flat().every(({ length }) => length)) {
      throw new Error(
        "Type words for both ends of both axes, for example bad to good, and poor to rich.",
      );
    }
    const [xs, ys] = await Promise.all(
      ends.map(([negative, positive]) =>
        source.axisCoordinates(m, { positive, negative, space: app.space.space }),
      ),
    );
    interleave(found, xs, ys, 1, 1);
    return {
      found,
      titles: [`← ${state.xf} · ${state.xt} →`, `← ${state.yf} · ${state.yt} →`],
      equal: false,
    };
  }
  const [xs, ys] = await Promise.all(
    [state.x, state.y].map((k) => source.coordinates(m, k, app.space.space)),
  );
  interleave(found, xs, ys, app.space.weights[state.x - 1], app.space.weights[state.y - 1]);
  return {
    found,
    titles: [axisTitle(app.features, state.x), axisTitle(app.features, state.y)],
    equal: false,
  };
}

/**
 * @param {Float32Array} found x and y in turn, to be filled
 * @param {Float32Array} xs
 * @param {Float32Array} ys
 * @param {number} wide
 * @param {number} tall
 */
function interleave(found, xs, ys, wide, tall) {
  for (let row = 0; row < xs.length; row++) {
    found[2 * row] = xs[row] * wide;
    found[2 * row + 1] = ys[row] * tall;
  }
}
