// Names of what is drawn, for a finger: a mouse that rests on a dot finds its name by itself.

const FINGER = 18; // pixels from a finger to a dot

// Show the name of the dot, line or bar that was pressed, until something else is pressed.
export function startTips() {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "chart-tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  for (const event of ["scroll", "hashchange"]) addEventListener(event, () => (tip.hidden = true), true);
  document.addEventListener("click", (event) => {
    const { target, clientX, clientY, pageX, pageY } = event;
    const chart = target instanceof SVGElement ? target.closest(".chart svg") : null;
    const named = chart && target instanceof Element && titleOf(target);
    const name = chart && (named || nearestName(chart, clientX, clientY));
    tip.hidden = !name;
    if (!name) return;
    tip.textContent = name;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(pageX + 8, room))}px`;
    tip.style.top = `${pageY + 12}px`;
  });
}

function titleOf(element) {
  return element.querySelector(":scope > title")?.textContent ?? "";
}

// The name of the dot that is nearest to a place on the screen, if one is near.
function nearestName(chart, x, y) {
  let [name, least] = ["", FINGER];
  for (const dot of chart.querySelectorAll("circle")) {
    const box = dot.getBoundingClientRect();
    const distance = Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
    if (distance < least && titleOf(dot)) [name, least] = [titleOf(dot), distance];
  }
  return name;
}
