// Start every part of the page with the data of the report.

import { startThemes } from "./components/theme.js";
import { startTips } from "./components/tips.js";
import { redrawFigures } from "./figures.js";
import { startLookup } from "./lookup.js";
import { startReplay } from "./replay.js";
import { startSpectrum } from "./spectrum.js";
import { startTasks } from "./tasks.js";

const report = JSON.parse(document.getElementById("report-data").textContent);
startThemes(redrawFigures);
startSpectrum(report);
startReplay(report);
startLookup(report);
startTasks(report);
startTips();
