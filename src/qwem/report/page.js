// Start every part of the page with the data of the report.

const report = JSON.parse(document.getElementById("report-data").textContent);
startThemes();
startSpectrum(report);
startReplay(report);
startLookup(report);
startTasks(report);
