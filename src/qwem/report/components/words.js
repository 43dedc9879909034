// Words typed by a person: finding them, suggesting them, and lists of words that were found.

const SUGGESTIONS = 30;

/**
 * A function that returns the row of a word as typed, or of its lower-case form.
 * @param {string[]} words
 * @returns {(typed: string) => number | undefined}
 */
export function wordFinder(words) {
  const index = new Map(words.map((word, row) => [word, row]));
  return (typed) => index.get(typed.trim()) ?? index.get(typed.trim().toLowerCase());
}

/**
 * @param {HTMLFormElement} form
 * @param {() => void} show
 */
export function onSubmit(form, show) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
}

/**
 * Offer the most frequent words that start with what was typed.
 * @param {HTMLDataListElement} list
 * @param {string[]} words
 * @param {string} typed
 */
export function suggest(list, words, typed) {
  const start = typed.trim().toLowerCase();
  const fitting = [];
  for (const word of words) {
    if (start && word.toLowerCase().startsWith(start)) fitting.push(word);
    if (fitting.length === SUGGESTIONS) break;
  }
  list.replaceChildren(...fitting.map((word) => new Option(word, word)));
}

/**
 * A list of words with their cosines as bars; with `follow` each word is a button.
 * @param {[string, number][]} found
 * @param {(word: string) => void} [follow]
 */
export function foundList(found, follow) {
  const list = document.createElement("ol");
  list.className = "found";
  for (const [name, cosine] of found) {
    const item = document.createElement("li");
    item.append(wordElement(name, follow), barElement(cosine));
    list.append(item);
  }
  return list;
}

/**
 * A word as text, or as a button that follows it.
 * @param {string} name
 * @param {(word: string) => void} [follow]
 */
export function wordElement(name, follow) {
  if (!follow) {
    const word = document.createElement("span");
    word.className = "word";
    word.textContent = name;
    return word;
  }
  const word = document.createElement("button");
  word.type = "button";
  word.className = "word";
  word.textContent = name;
  word.addEventListener("click", () => follow(name));
  return word;
}

/**
 * A number with a bar behind it that is as long as the number is large, one being the longest.
 * @param {number} value
 * @param {string} [shown]
 */
export function barElement(value, shown = value.toFixed(2)) {
  const bar = document.createElement("span");
  bar.className = "bar";
  bar.style.setProperty("--part", Math.max(value, 0).toFixed(4));
  bar.textContent = shown;
  return bar;
}

/**
 * A sentence about words that are not there, with close spellings.
 * @param {string[]} words
 * @param {string[]} typed
 * @param {string} place where the words should have been
 */
export function unknownWords(words, typed, place) {
  const message = document.createElement("p");
  message.className = "unknown";
  message.textContent = typed
    .map((word) => {
      if (!word.trim()) return "Type a word.";
      const close = closeSpellings(words, word.trim().toLowerCase());
      const hint = close.length ? `; close spellings: ${close.join(", ")}` : "";
      return `“${word.trim()}” is not among the words of this ${place}${hint}.`;
    })
    .join(" ");
  return message;
}

/**
 * Up to three words within two edits, the closest first and the more frequent before others.
 * @param {string[]} words
 * @param {string} typed
 */
export function closeSpellings(words, typed) {
  /** @type {[number, string][]} */
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

/**
 * @param {string} a
 * @param {string} b
 */
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
