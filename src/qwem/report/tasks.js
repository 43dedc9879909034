// Task vectors: spike and bulk of each relation, and how its signal changes with the dimension.

import { gramChart, signalChart, taskText } from "./components/relations.js";
import { addFigure, drawFigure } from "./figures.js";

export function startTasks(report) {
  if (!report.tasks.length) return;
  const menu = document.getElementById("task").elements.task;
  report.tasks.forEach((task, i) => menu.add(new Option(`${task.name} (${task.pairs} pairs)`, i)));
  const chosen = () => report.tasks[Number(menu.value)];
  const others = () => report.tasks.filter((task) => task !== chosen());
  const describe = () => {
    document.getElementById("task-words").textContent = taskText(chosen());
  };
  const both = [
    addFigure("gram", (element) => drawFigure(element, gramChart(chosen(), 340))),
    addFigure("snr", (element) => drawFigure(element, signalChart(chosen(), others(), 340))),
  ];
  describe();
  menu.addEventListener("change", () => {
    for (const draw of both) draw();
    describe();
  });
}
