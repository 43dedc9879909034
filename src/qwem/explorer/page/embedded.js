// Answers from the data in an exported page: what the server would say, computed here.

import { entry, unpack } from "./components/arrays.js";
import { singularValue } from "./components/dynamics.js";
import { closeSpellings, wordFinder } from "./components/words.js";

const FREQUENT_WORDS = 10_000;

/** @typedef {import("./source.js").Dials} Dials */
/** @typedef {import("./source.js").Space} Space */
/** @typedef {import("./components/arrays.js").Packed} Packed */

/**
 * @typedef {object} Exported
 * @property {string[]} words
 * @property {number[]} counts
 * @property {{ models: import("./source.js").ModelFacts[], compare: boolean }} models
 * @property {Record<string, { columns: number, parts: (Packed & { first: number })[] }>} spaces
 * @property {Record<string, { features: import("./source.js").FeatureFacts[] }>} features
 * @property {Packed | null} learned
 * @property {Packed | null} layout
 * @property {{ answer: { clusters: import("./source.js").Cluster[] }, labels: string } | null} clusters
 * @property {import("./source.js").ConceptAnswer[]} concepts
 * @property {Record<string, [string, number, number][]> | null} collocates
 * @property {import("./source.js").Trace | null} trace
 * @property {{ overlaps: import("./source.js").OverlapAnswer,
 *   moved: { shared_words: number, words: import("./source.js").Moved[] },
 *   neighbours: Record<string, { a: import("./source.js").Found[], b: import("./source.js").Found[] }> } | null} compare
 */

export class EmbeddedSource {
  canAsk = false;
  /** @type {Map<string, Float32Array[]>} the columns of each space */
  #columns = new Map();

  /** @param {Exported} data */
  constructor(data) {
    this.data = data;
    this.find = wordFinder(data.words);
  }

  async models() {
    return { ...this.data.models, compare: this.data.compare !== null };
  }
  /** @param {number} _ */
  async words(_) {
    return { words: this.data.words, counts: this.data.counts };
  }
  /** @param {number} _ @param {number} rank @param {string} space */
  async coordinates(_, rank, space) {
    return this.#rows(space)[rank - 1];
  }
  /** @param {number} _ @param {string} space @param {number} count */
  async features(_, space, count) {
    return { features: (this.data.features[space]?.features ?? []).slice(0, count) };
  }
  /** @param {number} _m @param {string} _s @param {number} _k @param {string} _n @returns {Promise<{ name: string }>} */
  async nameFeature(_m, _s, _k, _n) {
    throw new Error("Names can’t be changed in an exported page.");
  }
  /** @param {number} _ */
  async learned(_) {
    if (!this.data.learned) throw new Error("This page has no learning times of words.");
    const packed = unpack(this.data.learned);
    return Float32Array.from({ length: packed.rows }, (_value, row) => entry(packed, row, 0));
  }

  /** @param {number} _ @param {string} word @param {Dials & { n?: number }} dials @returns {Promise<{ word: string, neighbours: import("./source.js").Neighbour[], replicates: number }>} */
  async neighbours(_, word, dials) {
    const row = this.#row(word);
    const neighbours = this.#nearest(
      dials,
      this.#vector(row, dials),
      new Set([row]),
      dials.n ?? 10,
    );
    return { word: this.data.words[row], neighbours, replicates: 0 };
  }

  /** @param {number} _ @param {string} word @param {Dials} dials */
  async word(_, word, dials) {
    const row = this.#row(word);
    const vector = this.#vector(row, dials);
    const square = vector.reduce((sum, value) => sum + value * value, 0);
    const features = Array.from(vector, (coordinate, k) => ({
      rank: k + 1,
      coordinate,
      share: square ? (coordinate * coordinate) / square : 0,
    }));
    const { words, counts } = this.data;
    return {
      word: words[row],
      index: row,
      count: counts[row],
      rank: row + 1,
      length: Math.sqrt(square),
      features,
    };
  }

  /** @param {number} _ @param {string} a @param {string} b @param {Dials} dials */
  async why(_, a, b, dials) {
    const rows = [this.#row(a), this.#row(b)];
    const [first, second] = rows.map((row) => this.#vector(row, dials));
    const length = Math.hypot(...first) * Math.hypot(...second) || 1;
    const parts = Array.from(first, (value, k) => value * second[k]);
    const product = parts.reduce((sum, value) => sum + value, 0);
    const features = parts.map((part, k) => ({
      rank: k + 1,
      product: part,
      cosine: part / length,
      share: product ? part / product : null,
    }));
    return {
      a: this.data.words[rows[0]],
      b: this.data.words[rows[1]],
      product,
      cosine: product / length,
      features,
    };
  }

  /** @param {number} _ @param {string} word @param {number} n @returns {Promise<{ collocates: import("./source.js").Collocate[] }>} */
  async collocates(_, word, n) {
    const known = this.data.words[this.#row(word)];
    const found = ownValue(this.data.collocates ?? {}, known);
    if (!found)
      throw new Error(
        `This page has the collocates of more frequent words only, not of “${known}”.`,
      );
    return {
      collocates: found.slice(0, n).map(([other, count, ratio]) => ({ word: other, count, ratio })),
    };
  }

  /** @param {number} _ @param {[string, string, string]} words @param {Dials} dials */
  async analogy(_, words, dials) {
    const rows = words.map((word) => this.#row(word));
    const [a, b, c] = rows.map((row) => unitVector(this.#vector(row, dials)));
    const wanted = c.map((value, k) => value + b[k] - a[k]);
    return { answers: this.#nearest(dials, wanted, new Set(rows), 10) };
  }

  /** @param {number} m @param {import("./source.js").AxisWords} asked */
  async axis(m, asked) {
    const cosines = await this.axisCoordinates(m, asked);
    // Rare words are often at an end by chance, so the ends are of frequent words.
    const frequent = { length: Math.min(FREQUENT_WORDS, cosines.length) };
    const order = Array.from(frequent, (_, row) => row).sort((i, j) => cosines[j] - cosines[i]);
    const last = Math.max(1, order.length - 1);
    const named = (/** @type {number} */ place) => ({
      word: this.data.words[order[place]],
      index: order[place],
      cosine: cosines[order[place]],
      percentile: 100 * (1 - place / last),
    });
    const ends = Math.min(10, Math.floor(order.length / 2));
    const places = [
      ...Array(ends).keys(),
      ...Array.from({ length: ends }, (_, i) => order.length - ends + i),
    ];
    const unknown = (/** @type {string[]} */ words) =>
      words.filter((word) => this.find(word) === undefined);
    const known = (/** @type {string[]} */ words) =>
      words.filter((word) => this.find(word) !== undefined);
    return {
      positive: known(asked.positive),
      negative: known(asked.negative),
      missing: [...unknown(asked.positive), ...unknown(asked.negative)],
      ends: places.map(named),
    };
  }

  /** @param {number} _ @param {import("./source.js").AxisWords} asked */
  async axisCoordinates(_, asked) {
    const dials = { space: asked.space };
    const [positive, negative] = [asked.positive, asked.negative].map((words) =>
      this.#mean(words, dials),
    );
    const wanted = positive.map((value, k) => value - negative[k]);
    return this.#cosines(dials, wanted);
  }

  /** @param {number} _ @param {{ pairs: string[][], name?: string }} asked */
  async concept(_, asked) {
    const found = this.data.concepts.find(({ name }) => name === asked.name);
    if (!found)
      throw new Error(
        "An exported page has the listed relations only; for others start qwem explore.",
      );
    return found;
  }
  async concepts() {
    return this.data.concepts;
  }
  /** @param {number} _m @param {string} _s */
  async layout(_m, _s) {
    if (!this.data.layout) throw new Error("This page was written without a neighbour map.");
    const packed = unpack(this.data.layout);
    const both = new Float32Array(2 * packed.rows);
    for (let row = 0; row < packed.rows; row++) {
      both[row] = entry(packed, row, 0);
      both[packed.rows + row] = entry(packed, row, 1);
    }
    return both;
  }
  /** @param {number} _m @param {string} _s */
  async clusters(_m, _s) {
    if (!this.data.clusters) throw new Error("This page was written without clusters.");
    const labels = Uint8Array.from(atob(this.data.clusters.labels), (character) =>
      character.charCodeAt(0),
    );
    return { clusters: this.data.clusters.answer.clusters, labels };
  }
  /** @param {number} _ @returns {Promise<import("./source.js").Trace>} */
  async trace(_) {
    if (!this.data.trace) throw new Error("This page has no trained run.");
    return this.data.trace;
  }
  /** @param {number} _a @param {number} _b @param {number} _dim */
  async overlaps(_a, _b, _dim) {
    return this.#compared().overlaps;
  }
  /** @param {number} _a @param {number} _b @param {number} n @param {number} least */
  async moved(_a, _b, n, least) {
    const { shared_words, words } = this.#compared().moved;
    const often = words.filter((word) => Math.min(word.count_a, word.count_b) >= least);
    return { shared_words, words: often.slice(0, n) };
  }
  /** @param {number} _a @param {number} _b @param {string} word */
  async thenAndNow(_a, _b, word) {
    const found = ownValue(this.#compared().neighbours, word);
    if (!found)
      throw new Error(
        `This page has the neighbours in both models of the listed words only, not of “${word}”.`,
      );
    return found;
  }
  /** @param {number} _a @param {number} _b @returns {Promise<Float32Array>} */
  async distances(_a, _b) {
    throw new Error("An exported page has no distances of all words between the models.");
  }

  #compared() {
    if (!this.data.compare) throw new Error("This page was written for one model.");
    return this.data.compare;
  }

  /** @param {Dials} dials */
  #space(dials) {
    const { spaces } = this.data.models.models[0];
    return spaces.find(({ space }) => space === dials.space) ?? spaces[0];
  }

  /** @param {string} space */
  #rows(space) {
    let columns = this.#columns.get(space);
    if (!columns) {
      columns = [];
      for (const part of this.data.spaces[space].parts) {
        const packed = unpack(part);
        for (let k = 0; k < packed.columns; k++) {
          columns[part.first + k] = Float32Array.from({ length: packed.rows }, (_, row) =>
            entry(packed, row, k),
          );
        }
      }
      this.#columns.set(space, columns);
    }
    return columns;
  }

  /** @param {string} word */
  #row(word) {
    const row = this.find(word);
    if (row !== undefined) return row;
    if (!word.trim()) throw new Error("Type a word.");
    const close = closeSpellings(this.data.words, word.trim().toLowerCase());
    const hint = close.length ? `; close spellings: ${close.join(", ")}` : "";
    throw new Error(`“${word.trim()}” is not among the words of this page${hint}.`);
  }

  /**
   * The vector of a word at the dials.
   * @param {number} row
   * @param {Dials} dials
   */
  #vector(row, dials) {
    const space = this.#space(dials);
    const columns = this.#rows(space.space);
    const dim = Math.min(dials.d ?? space.dim, columns.length);
    return Float64Array.from(
      { length: dim },
      (_, k) => columns[k][row] * weightAt(space, k, dials.t),
    );
  }

  /** @param {string[]} words @param {Dials} dials */
  #mean(words, dials) {
    const known = words.filter((word) => this.find(word) !== undefined);
    if (!known.length) throw new Error("Give at least one known word for either end.");
    const vectors = known.map((word) => unitVector(this.#vector(this.#row(word), dials)));
    return vectors[0].map(
      (_, k) => vectors.reduce((sum, vector) => sum + vector[k], 0) / vectors.length,
    );
  }

  /** @param {Dials} dials @param {Float64Array} wanted */
  #cosines(dials, wanted) {
    const space = this.#space(dials);
    const columns = this.#rows(space.space);
    const products = new Float64Array(columns[0].length);
    const squares = new Float64Array(columns[0].length);
    for (let k = 0; k < wanted.length; k++) {
      const weight = weightAt(space, k, dials.t);
      const column = columns[k];
      for (let row = 0; row < column.length; row++) {
        const value = column[row] * weight;
        products[row] += value * wanted[k];
        squares[row] += value * value;
      }
    }
    const length = Math.hypot(...wanted) || 1;
    return Float32Array.from(products, (product, row) =>
      squares[row] ? product / Math.sqrt(squares[row]) / length : 0,
    );
  }

  /**
   * @param {Dials} dials
   * @param {Float64Array} wanted
   * @param {Set<number>} excluded
   * @param {number} n
   */
  #nearest(dials, wanted, excluded, n) {
    const cosines = this.#cosines(dials, wanted);
    const rows = Array.from(cosines, (_, row) => row).filter((row) => !excluded.has(row));
    rows.sort((i, j) => cosines[j] - cosines[i]);
    return rows
      .slice(0, n)
      .map((row) => ({ word: this.data.words[row], index: row, cosine: cosines[row] }));
  }
}

/**
 * The weight of feature k + 1 at a time in units of τ₁, or at the end of training.
 * @param {Space} space
 * @param {number} k
 * @param {number} [time]
 */
export function weightAt(space, k, time) {
  const { eigenvalues, start, rates, unit } = space;
  if (time === undefined || !start || !rates || !unit) return space.weights[k];
  return singularValue({ eigenvalues, start, rates }, k, time * unit);
}

/**
 * The value under a word, which may be called “constructor”.
 * @template T
 * @param {Record<string, T>} values
 * @param {string} word
 * @returns {T | undefined}
 */
function ownValue(values, word) {
  return Object.hasOwn(values, word) ? values[word] : undefined;
}

/** @param {Float64Array} vector */
function unitVector(vector) {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
