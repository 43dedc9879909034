// Neighbours of a word and completions of an analogy, from the rounded vectors in the page.

const SUGGESTIONS = 30;
const ANSWERS = 10;

function startLookup(report) {
  const vectors = unpack(report.vectors);
  const norms = rowNorms(vectors);
  const find = wordFinder(report.words);
  const suggestions = document.getElementById("suggestions");
  for (const input of document.querySelectorAll("input[list=suggestions]")) {
    input.addEventListener("input", () => suggest(suggestions, report.words, input.value));
  }

  const neighbours = document.getElementById("neighbours");
  const showNeighbours = () => {
    const typed = neighbours.elements.word.value;
    const output = document.getElementById("neighbours-found");
    const row = find(typed);
    if (row === undefined) return showUnknown(output, report.words, [typed]);
    const found = nearestRows(vectors, norms, unitRow(vectors, row), ANSWERS, new Set([row]));
    showFound(output, report.words, found, (word) => {
      neighbours.elements.word.value = word;
      showNeighbours();
    });
  };
  onSubmit(neighbours, showNeighbours);

  const analogy = document.getElementById("analogy");
  const showAnalogy = () => {
    const typed = ["a", "b", "c"].map((name) => analogy.elements[name].value);
    const output = document.getElementById("analogy-found");
    const rows = typed.map(find);
    const unknown = typed.filter((_, i) => rows[i] === undefined);
    if (unknown.length) return showUnknown(output, report.words, unknown);
    const [a, b, c] = rows.map((row) => unitRow(vectors, row));
    const query = c.map((value, j) => value + b[j] - a[j]);
    showFound(output, report.words, nearestRows(vectors, norms, query, ANSWERS, new Set(rows)));
  };
  onSubmit(analogy, showAnalogy);

  showNeighbours();
  showAnalogy();
}

// A function that returns the row of a word as typed, or of its lower-case form.
function wordFinder(words) {
  const index = new Map(words.map((word, row) => [word, row]));
  return (typed) => index.get(typed.trim()) ?? index.get(typed.trim().toLowerCase());
}

function onSubmit(form, show) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
}

// Offer the most frequent words that start with what was typed.
function suggest(list, words, typed) {
  const start = typed.trim().toLowerCase();
  const fitting = [];
  for (const word of words) {
    if (start && word.toLowerCase().startsWith(start)) fitting.push(word);
    if (fitting.length === SUGGESTIONS) break;
  }
  list.replaceChildren(...fitting.map((word) => new Option(word, word)));
}

function showFound(output, words, found, follow) {
  const list = document.createElement("ol");
  list.className = "found";
  for (const [row, cosine] of found) {
    const item = document.createElement("li");
    const word = document.createElement(follow ? "button" : "span");
    word.className = "word";
    word.textContent = words[row];
    if (follow) {
      word.type = "button";
      word.addEventListener("click", () => follow(words[row]));
    }
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.setProperty("--part", Math.max(cosine, 0).toFixed(4));
    bar.textContent = cosine.toFixed(2);
    item.append(word, bar);
    list.append(item);
  }
  output.replaceChildren(list);
}

function showUnknown(output, words, typed) {
  const message = document.createElement("p");
  message.className = "unknown";
  message.textContent = typed
    .map((word) => {
      if (!word.trim()) return "Type a word.";
      const close = closeSpellings(words, word.trim().toLowerCase());
      const hint = close.length ? `; close spellings: ${close.join(", ")}` : "";
      return `“${word.trim()}” is not among the words of this page${hint}.`;
    })
    .join(" ");
  output.replaceChildren(message);
}

// Up to three words within two edits, the closest first and the more frequent before others.
function closeSpellings(words, typed) {
  const near = [];
  for (const word of words) {
    if (Math.abs(word.length - typed.length) > 2) continue;
    const distance = editDistance(word, typed);
    if (distance <= 2 && distance < typed.length) near.push([distance, word]);
  }
  return near
    .sort((a, b) => a[0] - b[0])
    .slice(0, 3)
    .map(([, word]) => word);
}

function editDistance(a, b) {
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, last[j] + 1, next[j - 1] + 1));
    }
    last = next;
  }
  return last[b.length];
}
