// Light and dark colours: the system's choice, a button to change it, and white paper for printing.

// A hidden element whose colour the browser computes: the value of a variable is light-dark(…).
const probe = document.body.appendChild(document.createElement("span"));
probe.hidden = true;

const asked = new Map();

// The present colour of that name in the style sheet.
export function colour(name) {
  let found = asked.get(name);
  if (found === undefined) {
    probe.style.color = `var(--${name})`;
    found = getComputedStyle(probe).color;
    asked.set(name, found);
  }
  return found;
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// Connect the button `#theme`, and call `redraw` whenever colours have changed.
export function startThemes(redraw) {
  const button = document.getElementById("theme");
  const setTheme = (theme, printing = false) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    asked.clear();
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    redraw(printing);
  };
  button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    setTheme(document.documentElement.dataset.theme);
  });
  let before; // paper is white and narrow: draw for it, then return to the chosen theme
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    setTheme("light", true);
  });
  addEventListener("afterprint", () => setTheme(before));
  setTheme(document.documentElement.dataset.theme);
}
