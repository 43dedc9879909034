// Data of the page: named parts, which are elements of a file or come from a server, and the models
// that are made of them. Everything else is the same in both.

const NUMBERS = {
  i1: Int8Array,
  i2: Int16Array,
  u1: Uint8Array,
  u2: Uint16Array,
  i4: Int32Array,
  f4: Float32Array,
};
const loaded = new Map(); // promises of parts, by name

// The bytes of a part; a file has them compressed.
async function bytesOf(name) {
  const element = document.getElementById(`part-${name}`);
  if (!element) return (await request(`/data/${name}`)).arrayBuffer();
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  element.remove(); // it is needed once
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(plain).arrayBuffer();
}

// A part, read once: `read` makes it from its bytes.
function once(name, read) {
  if (!loaded.has(name)) {
    const found = bytesOf(name).then(read);
    loaded.set(name, found);
    found.catch(() => loaded.delete(name));
  }
  return loaded.get(name);
}

export function json(name) {
  return once(name, (bytes) => JSON.parse(new TextDecoder().decode(bytes)));
}

export function matrix(name) {
  return once(name, (bytes) => new Matrix(bytes));
}

// Ask the server a question; the answer is JSON.
export async function ask(question, body) {
  const headers = { "Content-Type": "application/json" };
  const sent = { method: "POST", headers, body: JSON.stringify(body) };
  return (await request(`/api/${question}`, sent)).json();
}

async function request(path, sent) {
  let answer;
  try {
    answer = await fetch(path, sent);
  } catch {
    throw new Error("The server no longer answers. Start qwem explore again.");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error ?? `The server answered ${answer.status}.`);
}

// Numbers in blocks of columns, rounded to integers with one scale per column.
class Matrix {
  constructor(bytes) {
    const length = new DataView(bytes).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.slice(4, 4 + length)));
    this.rows = header.rows;
    this.blocks = [];
    let [start, first] = [4 + length, 0];
    for (const { type, columns, scales } of header.blocks) {
      const values = new NUMBERS[type](bytes, start, this.rows * columns);
      this.blocks.push({ values, columns, first, scales: scales ?? Array(columns).fill(1) });
      start += 8 * Math.ceil(values.byteLength / 8);
      first += columns;
    }
    this.columns = first;
  }

  // All rows of a column, from 0.
  column(k) {
    const { values, columns, first, scales } = this.blocks.find((b) => k < b.first + b.columns);
    const found = new Float32Array(this.rows);
    for (let row = 0; row < this.rows; row++) {
      found[row] = values[row * columns + k - first] * scales[k - first];
    }
    return found;
  }

  row(row) {
    return this.blocks.flatMap(({ values, columns, scales }) =>
      Array.from({ length: columns }, (_, k) => values[row * columns + k] * scales[k]),
    );
  }
}

// Vectors of words: a direction of unit length times a length, on the axes of the features. A file may
// have fewer columns than the space has dimensions. `dials` are { d, t }: the first d features, at time
// t in units of τ₁; t is left out at the end of training.
class Space {
  constructor(number, facts, words) {
    Object.assign(this, facts);
    this.number = number;
    this.words = words;
    this.depth = this.remote ? this.dim : this.columns; // dimensions of the vectors that can be had
  }

  directions() {
    return matrix(`${this.number}/directions-${this.name}`);
  }

  async lengths() {
    return (await matrix(`${this.number}/lengths-${this.name}`)).column(0);
  }

  // The strength of feature k at a time.
  weight(k, t) {
    if (t === undefined || !this.run) return this.weights[k];
    const { start, rates, unit } = this.run;
    return singularValue(start[k], rates[k] * t * unit, this.eigenvalues[k]);
  }

  // The loss L/g = ¼ Σ_k (s_k⁴ − 2|λ_k| s_k²) of the first `dim` features, which is zero for W = 0.
  loss(t, dim) {
    let sum = 0;
    for (let k = 0; k < dim; k++) {
      const square = this.weight(k, t) ** 2;
      sum += square * (square - 2 * Math.abs(this.eigenvalues[k]));
    }
    return sum / 4;
  }

  // A time at which all features are learned.
  get end() {
    return this.run ? 1.15 * Math.max(...this.run.learning_times.filter(Number.isFinite)) : 0;
  }

  // How much of their final strength the first d features have.
  grown({ d = this.depth, t } = {}) {
    return Array.from({ length: d }, (_, k) => this.weight(k, t) / this.weights[k]);
  }

  // The final coordinates of all words on feature k.
  async column(k) {
    const [all, lengths] = await Promise.all([this.directions(), this.lengths()]);
    return all.column(k).map((value, row) => value * lengths[row]);
  }

  async vectors(rows, dials = {}) {
    if (this.remote) {
      const words = rows.map((row) => this.words[row]);
      return ask("vectors", { model: this.number, space: this.name, words, ...dials });
    }
    const [all, lengths] = await Promise.all([this.directions(), this.lengths()]);
    const grown = this.grown(dials);
    return rows.map((row) => {
      const values = all.row(row);
      return grown.map((part, k) => part * values[k] * lengths[row]);
    });
  }

  // Vectors of length one.
  async units(rows, dials) {
    return (await this.vectors(rows, dials)).map(unit);
  }

  // The cosine of every word with a direction; zero for words without a vector.
  async cosines(direction, dials = {}) {
    const all = await this.directions();
    const grown = this.grown(dials);
    const products = new Float32Array(all.rows);
    const squares = new Float32Array(all.rows);
    const largest = Math.max(...grown) || 1; // early in training all features are tiny
    for (const { values, columns, first, scales } of all.blocks) {
      const count = Math.min(columns, grown.length - first);
      if (count <= 0) break;
      const scaled = Float64Array.from({ length: count }, (_, k) => (scales[k] * grown[first + k]) / largest);
      const along = scaled.map((scale, k) => scale * direction[first + k]);
      const across = scaled.map((scale) => scale * scale);
      for (let row = 0, at = 0; row < all.rows; row++, at += columns) {
        let [product, square] = [0, 0];
        for (let k = 0; k < count; k++) {
          const value = values[at + k];
          product += value * along[k];
          square += value * value * across[k];
        }
        products[row] += product;
        squares[row] += square;
      }
    }
    const length = Math.hypot(...direction) || 1;
    return products.map((product, row) =>
      squares[row] > 0 ? product / Math.sqrt(squares[row]) / length : 0,
    );
  }

  // The words nearest to a direction: [[word, cosine], …]. Equal ones keep their order.
  async nearest(direction, count, excluded = [], dials = {}) {
    if (!(Math.hypot(...direction) > 0)) return [];
    const exclude = excluded.map((row) => this.words[row]);
    const question = { model: this.number, space: this.name, vector: direction, exclude, count, ...dials };
    const found = this.remote
      ? await ask("nearest", question)
      : largest(await this.cosines(direction, dials), count, new Set(excluded));
    return found.map(([row, cosine]) => [this.words[row], cosine]);
  }

  // The words nearest to a word.
  async neighbours(row, count, dials) {
    const [vector] = await this.vectors([row], dials);
    return this.nearest(vector, count, [row], dials);
  }
}

// s(t) = s(0) / (e^{−γt} + s²(0)(1 − e^{−γt})/|λ|)^½, the strength of a mode in training (Lemma 3.4), with γt
// the rate of the mode times the time.
function singularValue(start, growth, eigenvalue) {
  const learned = start * Math.sqrt(-Math.expm1(-growth) / Math.abs(eigenvalue));
  return start / Math.hypot(Math.exp(-growth / 2), learned);
}

// The rows of the largest values, the largest first.
export function largest(values, count, excluded = new Set()) {
  const best = [];
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if (value === 0 || Number.isNaN(value) || excluded.has(row)) continue;
    if (best.length === count && value <= best[count - 1][1]) continue;
    let place = best.length;
    while (place > 0 && best[place - 1][1] < value) place -= 1;
    best.splice(place, 0, [row, value]);
    if (best.length > count) best.pop();
  }
  return best;
}

export function unit(vector) {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

export function dot(a, b) {
  return a.reduce((sum, value, k) => sum + value * b[k], 0);
}

// A model: its facts, its words, and the parts that views ask for.
export class Model {
  static async load(number, facts) {
    const name = (part) => `${number}/${part}`;
    const [words, counts, features, labels] = await Promise.all([
      json(name("words")),
      matrix(name("counts")),
      json(name("features")),
      matrix(name("topics")),
    ]);
    return new Model(number, facts, words, counts.column(0), features, labels);
  }

  constructor(number, facts, words, counts, features, labels) {
    Object.assign(this, { ...facts, number, words, counts, features });
    this.labels = labels.column(0); // the topic of each word; function words have none
    // The order in which words get labels on a map: frequent words close to the centre of a topic first.
    const closeness = labels.column(1);
    const importance = counts.map((count, row) => (this.topicOf(row) ? count * closeness[row] ** 3 : 0));
    this.order = Uint32Array.from(words.keys()).sort((a, b) => importance[b] - importance[a] || a - b);
    this.spaces = facts.spaces.map((space) => new Space(number, space, words));
    this.all = facts.words; // how many words the model has; a file has fewer
    this.index = new Map(words.map((word, row) => [word, row]));
  }

  has(part) {
    return this.parts.includes(part);
  }

  json(part) {
    return json(`${this.number}/${part}`);
  }

  matrix(part) {
    return matrix(`${this.number}/${part}`);
  }

  // The row of a word as typed, or of its lower-case form.
  find(typed) {
    return this.index.get(typed.trim()) ?? this.index.get(typed.trim().toLowerCase());
  }

  // The rows of words as typed; an error names those that are unknown and close spellings.
  rowsOf(typed) {
    const rows = typed.map((word) => this.find(word));
    const unknown = typed.filter((_, i) => rows[i] === undefined);
    if (unknown.length) throw new UnknownWords(this, unknown);
    return rows;
  }

  // The topic of a word; undefined for function words.
  topicOf(row) {
    return this.topics[this.labels[row]];
  }

  // What a word is about, in a few words.
  topicNote(row) {
    const topic = this.topicOf(row);
    return topic ? `nearest to the topic “${topic.title}”` : "a function word";
  }

  space(name) {
    return this.spaces.find((space) => space.name === name) ?? this.spaces[0];
  }

  // The space whose axes are the features.
  get featureSpace() {
    return this.space(this.featured);
  }
}

// Words that are not there; the page shows close spellings to press.
export class UnknownWords extends Error {
  constructor(model, typed) {
    const shown = typed.map((word) => word.trim()).filter(Boolean);
    super(
      shown.length
        ? `${shown.map((word) => `“${word}”`).join(" and ")} ${shown.length > 1 ? "are" : "is"} not among the words of this ${document.getElementById("part-page") || model.all > model.words.length ? "page" : "model"}.`
        : "Type a word.",
    );
    this.typed = shown[0] ?? "";
    this.close = shown.length ? closeSpellings(model.words, shown[0]) : [];
  }
}

// Up to three words that are one letter or two swapped letters off, the most frequent first; if there are
// none, those of the frequent words that have most letters in common, in order: the rule of the command line.
function closeSpellings(words, typed) {
  for (const spelled of [typed, typed.toLowerCase()]) {
    const near = words.filter(
      (word) => Math.abs(word.length - spelled.length) < 2 && editDistance(word, spelled) < 2,
    );
    if (near.length) return near.slice(0, 3);
  }
  for (const spelled of [typed, typed.toLowerCase()]) {
    const near = words
      .slice(0, 20000)
      .map((word) => ({ word, likeness: (2 * common(word, spelled)) / (word.length + spelled.length) }))
      .filter(({ likeness }) => likeness >= 0.6)
      .sort((a, b) => b.likeness - a.likeness || (a.word < b.word ? 1 : -1));
    if (near.length) return near.slice(0, 3).map(({ word }) => word);
  }
  return [];
}

// How many letters two words share: their longest common part, and what is common before and after it.
function common(a, b) {
  let [length, from, at] = [0, 0, 0];
  for (let i = 0; i + length < a.length; i++) {
    for (let j = 0; j + length < b.length; j++) {
      let same = 0;
      while (i + same < a.length && j + same < b.length && a[i + same] === b[j + same]) same++;
      if (same > length) [length, from, at] = [same, i, j];
    }
  }
  if (!length) return 0;
  return (
    length + common(a.slice(0, from), b.slice(0, at)) + common(a.slice(from + length), b.slice(at + length))
  );
}

function editDistance(a, b) {
  let [before, last] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2] + 1 : Infinity;
      next.push(Math.min(changed, swapped, last[j] + 1, next[j - 1] + 1));
    }
    [before, last] = [last, next];
  }
  return last[b.length];
}
