// Neighbours of a word and completions of an analogy, from the rounded vectors in the page.

import { nearestRows, rowNorms, unitRow, unpack } from "./components/arrays.js";
import { foundList, onSubmit, suggest, unknownWords, wordFinder } from "./components/words.js";

const ANSWERS = 10;

export function startLookup(report) {
  const vectors = unpack(report.vectors);
  const norms = rowNorms(vectors);
  const find = wordFinder(report.words);
  const suggestions = document.getElementById("suggestions");
  for (const input of document.querySelectorAll("input[list=suggestions]")) {
    input.addEventListener("input", () => suggest(suggestions, report.words, input.value));
  }
  const named = (found) => found.map(([row, cosine]) => [report.words[row], cosine]);

  const neighbours = document.getElementById("neighbours");
  const showNeighbours = () => {
    const typed = neighbours.elements.word.value;
    const output = document.getElementById("neighbours-found");
    const row = find(typed);
    if (row === undefined) {
      return output.replaceChildren(unknownWords(report.words, [typed], "page"));
    }
    const found = nearestRows(vectors, norms, unitRow(vectors, row), ANSWERS, new Set([row]));
    const follow = (word) => {
      neighbours.elements.word.value = word;
      showNeighbours();
    };
    output.replaceChildren(foundList(named(found), follow));
  };
  onSubmit(neighbours, showNeighbours);

  const analogy = document.getElementById("analogy");
  const showAnalogy = () => {
    const typed = ["a", "b", "c"].map((name) => analogy.elements[name].value);
    const output = document.getElementById("analogy-found");
    const rows = typed.map(find);
    const unknown = typed.filter((_, i) => rows[i] === undefined);
    if (unknown.length) {
      return output.replaceChildren(unknownWords(report.words, unknown, "page"));
    }
    const [a, b, c] = rows.map((row) => unitRow(vectors, row));
    const query = c.map((value, j) => value + b[j] - a[j]);
    const found = nearestRows(vectors, norms, query, ANSWERS, new Set(rows));
    output.replaceChildren(foundList(named(found)));
  };
  onSubmit(analogy, showAnalogy);

  showNeighbours();
  showAnalogy();
}
