// The page comes to life: each part takes what it needs from the one block of data.

const report = JSON.parse(document.getElementById("report-data").textContent);
startThemes();
startSpectrum(report);
startReplay(report);
startLookup(report);
startTasks(report);
