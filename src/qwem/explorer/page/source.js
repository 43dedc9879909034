// Where answers come from: a server, or the data in an exported page (embedded.js). Same methods.

/**
 * One kind of vectors of a model. `weights` are those at the end of training.
 * @typedef {object} Space
 * @property {string} space
 * @property {string} title
 * @property {number} dim
 * @property {boolean} time
 * @property {boolean} signed
 * @property {number[]} eigenvalues
 * @property {number[]} weights
 * @property {number[] | null} start
 * @property {number[] | null} rates
 * @property {number[] | null} learning_times in units of τ₁
 * @property {number | null} unit τ₁
 */

/**
 * @typedef {object} ModelFacts
 * @property {number} id
 * @property {string} name
 * @property {number} words
 * @property {[string, string][]} facts
 * @property {string[]} story
 * @property {Space[]} spaces
 * @property {boolean} can_name
 * @property {boolean} collocates
 * @property {boolean} trace
 * @property {number} replicates
 */

/** @typedef {{ word: string, index: number, cosine: number, low?: number, high?: number, kept?: number }} Neighbour */
/** @typedef {{ word: string, index: number, cosine: number }} Found */
/** @typedef {{ word: string, index: number, cosine: number, percentile: number }} Projected */
/**
 * @typedef {object} FeatureFacts
 * @property {number} rank
 * @property {number} eigenvalue
 * @property {number} share
 * @property {number | null} learning_time
 * @property {number} participation
 * @property {Found[]} positive
 * @property {Found[]} negative
 * @property {string} name
 */
/** @typedef {{ space?: string, d?: number, t?: number }} Dials */
/** @typedef {{ rank: number, coordinate: number, share: number }} Coordinate */
/** @typedef {{ word: string, index: number, count: number, rank: number, length: number, features: Coordinate[] }} WordFacts */
/** @typedef {{ rank: number, product: number, cosine: number, share: number | null }} Part */
/** @typedef {{ a: string, b: string, product: number, cosine: number, features: Part[] }} Why */
/** @typedef {{ word: string, index?: number | null, count: number, ratio: number }} Collocate */
/** @typedef {{ positive: string[], negative: string[], pairs?: boolean, space?: string }} AxisWords */
/** @typedef {{ positive: string[], negative: string[], missing: string[], ends: Projected[] }} AxisAnswer */
/**
 * @typedef {object} ConceptAnswer
 * @property {string} name
 * @property {string[][]} pairs
 * @property {unknown[]} dropped
 * @property {{ verdict: string, meaning: string, p_value: number, pairing_p_value: number | null, best_dim: number,
 *   dims: number[], share: (number | null)[], expected_share: (number | null)[], features: { rank: number, share: number }[],
 *   pairs: { source: string, target: string, cosine: number }[], draws: number }} test
 * @property {{ dims: number[], snr: (number | null)[], accuracy: (number | null)[], spike: number, bulk: number[],
 *   edge: number, effective_dim: number, signal_in_mean: number, strongest: [number, number][],
 *   density: [number[], number[]] } | null} analysis
 */
/** @typedef {{ id: number, size: number, words: string[] }} Cluster */
/** @typedef {{ name: string, steps: number[], times: number[] | null, losses: number[] | null, singular_values: number[][] | null }} Trace */
/** @typedef {{ shared_words: number, dim: number, matched_rank: number[], matched: number[], subspace_similarity: number[], squared: number[][] }} OverlapAnswer */
/** @typedef {{ word: string, index_a: number, index_b: number, count_a: number, count_b: number, distance: number }} Moved */

/** Answers of the server that sent the page. */
export class ServedSource {
  canAsk = true; // any concept, any layout
  /** @type {Map<string, Promise<any>>} arrays that are worth keeping */
  #kept = new Map();

  /** @returns {Promise<{ models: ModelFacts[], compare: boolean }>} */
  models() {
    return this.#json("/api/models");
  }
  /** @param {number} m @returns {Promise<{ words: string[], counts: number[] }>} */
  words(m) {
    return this.#keep(`/api/models/${m}/words`, (path) => this.#json(path));
  }
  /** @param {number} m @param {number} rank @param {string} space @returns {Promise<Float32Array>} */
  coordinates(m, rank, space) {
    return this.#keep(`/api/models/${m}/coordinates/${rank}${query({ space })}`, (path) =>
      this.#floats(path),
    );
  }
  /** @param {number} m @param {string} space @param {number} count @returns {Promise<{ features: FeatureFacts[] }>} */
  features(m, space, count) {
    return this.#json(`/api/models/${m}/features${query({ space, count })}`);
  }
  /** @param {number} m @param {string} space @param {number} rank @param {string} name @returns {Promise<{ name: string }>} */
  nameFeature(m, space, rank, name) {
    return this.#json(`/api/models/${m}/features/${rank}/name${query({ space })}`, { name }, "PUT");
  }
  /** @param {number} m @returns {Promise<Float32Array>} */
  learned(m) {
    return this.#keep(`/api/models/${m}/learned?space=closed`, (path) => this.#floats(path));
  }
  /** @param {number} m @param {string} word @param {Dials & { n?: number }} dials @returns {Promise<{ word: string, neighbours: Neighbour[], replicates: number }>} */
  neighbours(m, word, dials) {
    return this.#json(`/api/models/${m}/neighbours${query({ word, ...dials })}`);
  }
  /** @param {number} m @param {string} word @param {Dials} dials @returns {Promise<WordFacts>} */
  word(m, word, dials) {
    return this.#json(`/api/models/${m}/word${query({ word, ...dials })}`);
  }
  /** @param {number} m @param {string} a @param {string} b @param {Dials} dials @returns {Promise<Why>} */
  why(m, a, b, dials) {
    return this.#json(`/api/models/${m}/why${query({ a, b, ...dials })}`);
  }
  /** @param {number} m @param {string} word @param {number} n @returns {Promise<{ collocates: Collocate[] }>} */
  collocates(m, word, n) {
    return this.#json(`/api/models/${m}/collocates${query({ word, n })}`);
  }
  /** @param {number} m @param {[string, string, string]} words @param {Dials} dials @returns {Promise<{ answers: Found[] }>} */
  analogy(m, [a, b, c], dials) {
    return this.#json(`/api/models/${m}/analogy${query({ a, b, c, ...dials })}`);
  }
  /** @param {number} m @param {AxisWords} words @returns {Promise<AxisAnswer>} */
  axis(m, words) {
    return this.#json(`/api/models/${m}/axis`, words);
  }
  /** @param {number} m @param {AxisWords} words @returns {Promise<Float32Array>} */
  axisCoordinates(m, words) {
    return this.#floats(`/api/models/${m}/axis/coordinates`, words);
  }
  /** @param {number} m @param {{ pairs: string[][], name?: string, space?: string }} asked @returns {Promise<ConceptAnswer>} */
  concept(m, asked) {
    return this.#json(`/api/models/${m}/concept`, asked);
  }
  /** @returns {Promise<ConceptAnswer[]>} answers that are there already */
  async concepts() {
    return [];
  }
  /** @param {number} m @param {string} space @returns {Promise<Float32Array>} all x, then all y */
  layout(m, space) {
    return this.#keep(`/api/models/${m}/layout${query({ space })}`, (path) => this.#floats(path));
  }
  /** @param {number} m @param {string} space @returns {Promise<{ clusters: Cluster[], labels: Uint8Array }>} */
  async clusters(m, space) {
    const answer = await this.#json(`/api/models/${m}/clusters${query({ space })}`);
    const bytes = await this.#bytes(`/api/models/${m}/clusters/labels${query({ space })}`);
    return { clusters: answer.clusters, labels: new Uint8Array(bytes) };
  }
  /** @param {number} m @returns {Promise<Trace>} */
  trace(m) {
    return this.#json(`/api/models/${m}/trace`);
  }
  /** @param {number} a @param {number} b @param {number} dim @returns {Promise<OverlapAnswer>} */
  overlaps(a, b, dim) {
    return this.#json(`/api/compare${query({ a, b, dim })}`);
  }
  /** @param {number} a @param {number} b @param {number} n @param {number} least @returns {Promise<{ shared_words: number, words: Moved[] }>} */
  moved(a, b, n, least) {
    return this.#json(`/api/compare/moved${query({ a, b, n, least })}`);
  }
  /** @param {number} a @param {number} b @param {string} word @returns {Promise<{ a: Found[], b: Found[] }>} */
  async thenAndNow(a, b, word) {
    const [then, now] = await Promise.all([a, b].map((m) => this.neighbours(m, word, {})));
    return { a: then.neighbours, b: now.neighbours };
  }
  /** @param {number} a @param {number} b @returns {Promise<Float32Array>} */
  distances(a, b) {
    return this.#keep(`/api/compare/distances${query({ a, b })}`, (path) => this.#floats(path));
  }

  /**
   * @template T
   * @param {string} path
   * @param {(path: string) => Promise<T>} ask
   * @returns {Promise<T>}
   */
  #keep(path, ask) {
    let answer = this.#kept.get(path);
    if (!answer) {
      answer = ask(path);
      this.#kept.set(path, answer);
      answer.catch(() => this.#kept.delete(path));
      if (this.#kept.size > 60) this.#kept.delete(this.#kept.keys().next().value ?? "");
    }
    return answer;
  }

  /** @param {string} path @param {unknown} [body] @param {string} [method] @returns {Promise<any>} */
  async #json(path, body, method) {
    return (await this.#ask(path, body, method)).json();
  }
  /** @param {string} path @param {unknown} [body] */
  async #floats(path, body) {
    return new Float32Array(await this.#bytes(path, body));
  }
  /** @param {string} path @param {unknown} [body] */
  async #bytes(path, body) {
    return (await this.#ask(path, body)).arrayBuffer();
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @param {string} [method]
   */
  async #ask(path, body, method = "POST") {
    const headers = { "Content-Type": "application/json" };
    const sent = body === undefined ? {} : { method, headers, body: JSON.stringify(body) };
    let answer;
    try {
      answer = await fetch(path, sent);
    } catch {
      throw new Error("The server doesn’t answer any more. Start qwem explore again.");
    }
    if (answer.ok) return answer;
    const text = await answer.text();
    let sentence = `The server answered ${answer.status}.`;
    try {
      sentence = JSON.parse(text).error ?? sentence;
    } catch {
      // not the server's own words
    }
    throw new Error(sentence);
  }
}

/** @typedef {ServedSource | import("./embedded.js").EmbeddedSource} Source */

/** @param {Record<string, string | number | undefined>} parameters */
function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  if (!given.length) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
