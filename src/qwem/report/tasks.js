// Task vectors: spike and bulk of each relation, and how its signal changes with the dimension.

import { gramTop, histogram, taskText } from "./components/relations.js";
import { colour } from "./components/theme.js";
import { CONFIG, addFigure, axis, figures, layout, plain } from "./look.js";
import { ROUND } from "./spectrum.js";

export function startTasks(report) {
  if (!report.tasks.length) return;
  const menu = document.getElementById("task").elements.task;
  report.tasks.forEach((task, i) => menu.add(new Option(`${task.name} (${task.pairs} pairs)`, i)));
  const chosen = () => report.tasks[Number(menu.value)];
  const drawGram = (element) => {
    Plotly.react(element, gramTraces(chosen()), gramLayout(chosen()), CONFIG);
  };
  const drawSnr = (element) => {
    Plotly.react(element, snrTraces(report.tasks, chosen()), snrLayout(), CONFIG);
  };
  const describe = () => {
    document.getElementById("task-words").textContent = taskText(chosen());
  };
  addFigure("gram", drawGram);
  addFigure("snr", drawSnr);
  describe();
  menu.addEventListener("change", () => {
    for (const figure of figures) if (["gram", "snr"].includes(figure.element.id)) figure.draw();
    describe();
  });
}

function gramTraces(task) {
  const { heights, width } = histogram(task);
  return [
    {
      type: "bar",
      x: heights.map((_, i) => (i + 0.5) * width),
      y: heights,
      width,
      marker: { color: colour("wash"), line: { color: colour("cool"), width: 1 } },
      hoverinfo: "skip",
    },
    {
      x: task.density[0],
      y: task.density[1],
      mode: "lines",
      line: { color: colour("warm"), width: 2.5 },
      hovertemplate: "pure noise<extra></extra>",
    },
    {
      x: [task.spike, task.spike],
      y: [0, 0.3 * gramTop(task)],
      text: ["", "spike"],
      mode: "lines+markers+text",
      textposition: "top center",
      textfont: { color: colour("ink"), size: 13 },
      marker: { size: [0, 9], color: colour("cool") },
      line: { color: colour("cool"), width: 2.5 },
      hovertemplate: "spike: %{x:.3~g}<extra></extra>",
    },
  ];
}

function gramLayout(task) {
  const end = 1.08 * Math.max(task.spike, task.edge, ...task.bulk);
  return layout({
    height: 340,
    hovermode: "closest",
    xaxis: axis("eigenvalue of the differences’ Gram matrix, G/d", { range: [0, end], zeroline: false }),
    yaxis: axis("density", { range: [0, gramTop(task)] }),
  });
}

function snrTraces(tasks, chosen) {
  const order = [...tasks.filter((task) => task !== chosen), chosen]; // the chosen one on top
  return order.map((task) => ({
    x: task.dims,
    y: task.snr,
    customdata: task.accuracy,
    mode: task === chosen ? "lines+markers" : "lines",
    marker: { size: 6 },
    line: { color: colour(task === chosen ? "cool" : "faint"), width: task === chosen ? 3 : 1.2 },
    hovertemplate:
      `<b>${plain(task.name)}</b><br>%{x} features: SNR %{y:.1f}, ` +
      "%{customdata:.0%} of analogies correct<extra></extra>",
  }));
}

function snrLayout() {
  return layout({
    height: 340,
    hovermode: "closest",
    xaxis: axis("number of features d", { type: "log", tickvals: ROUND }),
    yaxis: axis("signal to noise", { rangemode: "tozero" }),
  });
}
