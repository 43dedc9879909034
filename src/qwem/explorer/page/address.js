// The address of what is shown: #view?name=value&…

/**
 * @param {string} hash
 * @returns {{ view: string, parameters: URLSearchParams }}
 */
export function readAddress(hash) {
  const [view, rest = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { view, parameters: new URLSearchParams(rest) };
}

/**
 * @param {string} view
 * @param {Record<string, string | number | undefined | null>} values those without a value are left out
 */
export function writeAddress(view, values) {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#${view}${given.length ? `?${parameters}` : ""}`;
}

/**
 * A number of the address within bounds, or what it is otherwise.
 * @param {string | null} text
 * @param {number} otherwise
 * @param {number} low
 * @param {number} high
 */
export function numberIn(text, otherwise, low, high) {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
}
