// What several views share: names of features, headings, and the look of maps and their notes.

import { colour } from "./components/theme.js";
import { make } from "./dom.js";
import { parseRgb } from "./palette.js";

/** @typedef {import("./source.js").FeatureFacts} FeatureFacts */

/**
 * A heading and a sentence that says what one sees.
 * @param {string} title
 * @param {string} text
 */
export function headed(title, text) {
  return make(
    "div",
    { className: "intro" },
    make("h1", { textContent: title }),
    make("p", { textContent: text }),
  );
}

/**
 * The words at both ends of a feature, in short, or the name that somebody gave it.
 * @param {FeatureFacts[]} features
 * @param {number} rank
 */
export function featureTitle(features, rank) {
  const feature = features[rank - 1];
  if (!feature) return `Feature ${rank}`;
  if (feature.name) return `${rank}: ${feature.name}`;
  const ends = [feature.negative, feature.positive].map((end) =>
    end
      .slice(0, 2)
      .map(({ word }) => word)
      .join(", "),
  );
  return `${rank}: ${ends.filter(Boolean).join(" ↔ ")}`;
}

/**
 * Features that can be chosen, by their rank.
 * @param {FeatureFacts[]} features
 * @returns {[string, string][]}
 */
export function featureChoices(features) {
  return features.map(({ rank }) => [String(rank), featureTitle(features, rank)]);
}

/**
 * What stands beside an axis of a map that shows a feature.
 * @param {FeatureFacts[]} features
 * @param {number} rank
 */
export function axisTitle(features, rank) {
  const feature = features[rank - 1];
  if (!feature) return `feature ${rank}`;
  const [low, high] = [feature.negative, feature.positive].map((end) =>
    end
      .slice(0, 2)
      .map(({ word }) => word)
      .join(", "),
  );
  return `← ${low} · ${feature.name || `feature ${rank}`} · ${high} →`;
}

/** A note beside the word under the pointer. */
export function wordTip() {
  const element = make("div", { className: "tip", hidden: true, "aria-hidden": "true" });
  return {
    element,
    /**
     * @param {string[]} lines the word and maybe more; none hides the note
     * @param {number} x
     * @param {number} y
     */
    show([word, ...more], x, y) {
      element.hidden = word === undefined;
      if (word === undefined) return;
      const rest = more.map((line) => make("span", { textContent: line }));
      element.replaceChildren(make("b", { textContent: word }), ...rest);
      const room = (element.parentElement?.clientWidth ?? Infinity) - 150;
      element.style.left = `${Math.min(x + 12, room)}px`;
      element.style.top = `${y + 12}px`;
    },
  };
}

/** @returns {import("./wordmap.js").MapLook} */
export function mapLook() {
  return {
    ink: () => colour("ink"),
    halo: () => colour("card"),
    accent: () => colour("warm"),
    rule: () => colour("rule"),
    paper: () => parseRgb(colour("card")),
  };
}

/**
 * Only the last of several answers that were asked for is used.
 * @returns {<T>(answer: Promise<T>, use: (value: T) => void, fail: (error: unknown) => void) => Promise<void>}
 */
export function latest() {
  let asked = 0;
  return async (answer, use, fail) => {
    const mine = (asked += 1);
    try {
      const value = await answer;
      if (mine === asked) use(value);
    } catch (error) {
      if (mine === asked) fail(error);
    }
  };
}

/**
 * A task that is never run twice at once: asked again while it runs, it runs once more afterwards.
 * @param {() => Promise<unknown>} task
 */
export function oneAtATime(task) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      await task();
    }
    running = false;
  };
}

/**
 * Words typed in a field: divided by commas or spaces.
 * @param {string} text
 */
export function typedWords(text) {
  return text.split(/[\s,;]+/).filter(Boolean);
}
