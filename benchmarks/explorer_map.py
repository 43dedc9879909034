"""Frames per second of the explorer's map while it is moved, in a browser without a window.

    python benchmarks/explorer_map.py
    python benchmarks/explorer_map.py --words 10000 --peer /somewhere/node_modules
    python benchmarks/explorer_map.py --models MODEL OTHER

The map shows made-up words in two features. For some seconds each frame pans or zooms it, and the
frames that the browser shows are counted; 60 is the most. The processor milliseconds per frame, of
all the browser's processes together, say the same on a busy machine. Last are the frames while all
words move, as they do in the view of time.

With `--models`, saved models are served one after the other. Printed are the seconds from opening
the page to the first map with words, the median of some visits, and the frames per second of its
map and of its view of time.

`--peer` names a directory of node_modules with regl-scatterplot and esbuild, which came from
`npm install regl-scatterplot pub-sub-es regl esbuild`. Then the same movement is measured with it.
It draws points by WebGL and no labels; our own map is measured without labels too. Without
graphics hardware, WebGL is done in software.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from queue import Queue
from typing import Any

import psutil

PAGE = """<!doctype html><meta charset="utf-8"><style>html, body {{ margin: 0 }}
#map {{ position: relative; width: {width}px; height: {height}px; overflow: hidden }}
canvas {{ position: absolute; inset: 0; width: 100%; height: 100% }}</style><div id="map"></div>
<script type="module" src="{script}"></script>"""

MADE_UP = """
const count = COUNT;
let state = 1;
const uniform = () => ((state = (state * 1103515245 + 12345) % 2147483648) + 1) / 2147483649;
const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
const words = Array.from({ length: count }, (_, i) => "word" + i.toString(36));
const places = Float32Array.from({ length: 2 * count }, () => normal() / (1 + 4 * uniform()));
const shade = (_, i) => (i % 4 === 3 ? 190 : 60 + 10 * (i % 11));
const colours = Uint8Array.from({ length: 4 * count }, shade);
// Count the frames in which `move` was called with the seconds passed.
window.measure = (move, seconds) => new Promise((done) => {
  let first = 0;
  let frames = 0;
  const frame = (now) => {
    first ||= now;
    const passed = (now - first) / 1000;
    if (passed >= seconds) return done({ frames: frames - 1, rate: (frames - 1) / passed });
    frames += 1;
    move(passed);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});
"""

OURS = """
import { WordMap } from "./page/wordmap.js";
const fixed = {
  ink: () => "#20222a", halo: () => "#ffffff", accent: () => "#b9501c", rule: () => "#ddd",
  paper: () => [255, 255, 255],
};
const map = new WordMap(document.getElementById("map"), {}, fixed);
map.setWords(words);
map.setColours(colours);
map.place(places);
const moves = {
  pan: (t) => map.pan(9 * Math.cos(2 * t), 6 * Math.sin(3 * t)),
  zoom: (t) => map.zoomBy(Math.exp(0.04 * Math.sin(2 * t)), 500, 300),
  time: (t) => {
    const now = places.map((value) => value * (0.5 + 0.5 * Math.sin(t)));
    map.place(now, { bounds: { left: -3, right: 3, low: -3, high: 3 }, keep: true });
  },
};
window.run = async (what, labels) => {
  map.fit();
  if (!labels) map.setFound(new Set([0]));
  else map.setFound(null);
  map.setColours(colours);
  const rate = await measure(moves[what], SECONDS);
  map.setFound(null);
  return rate;
};
window.ready = "our own layer";
"""

VISITS = 5
FIRST_VIEW = """
const [done] = arguments;
const look = () =>
  document.querySelector(".map .words[data-shown]") ? done(performance.now()) : setTimeout(look, 5);
look();
"""
COUNTED = """
const [seconds, done] = arguments;
const count = (box, move) => {
  const began = performance.now();
  let frames = 0;
  box.addEventListener("drawn", () => {
    if (performance.now() - began > 1000 * seconds) return done(frames);
    frames += 1;
    move();
  });
  move();
};
"""
PANNED = f"""{COUNTED}
const box = document.querySelector(".map .words");
let key = "ArrowLeft";
count(box, () => {{
  key = key === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
  box.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
}});
"""
PLAYED = f"""{COUNTED}
location.hash = "#time";
const look = () => {{
  const box = document.querySelector(".time .words[data-time]");
  if (!box) return setTimeout(look, 20);
  document.querySelector(".time button.main").click();
  count(box, () => {{}});
}};
look();
"""

PEER = """
import createScatterplot from "regl-scatterplot";
const canvas = document.getElementById("map").appendChild(document.createElement("canvas"));
const look = { width: WIDTH, height: HEIGHT, pointSize: SIZE, opacity: 0.75 };
const plot = createScatterplot({ canvas, ...look });
const every = (start) => places.filter((_, i) => i % 2 === start);
const points = { x: every(0), y: every(1) };
await plot.draw(points);
const matrix = (size, x, y) =>
  new Float32Array([size, 0, 0, 0, 0, size, 0, 0, 0, 0, 1, 0, x, y, 0, 1]);
let zoom = 1;
let at = [0, 0];
const moves = {
  pan: (t) => {
    at = [at[0] + 0.018 * Math.cos(2 * t), at[1] + 0.018 * Math.sin(3 * t)];
    plot.view(matrix(1, at[0], at[1]), { preventEvent: true });
  },
  zoom: (t) => {
    zoom *= Math.exp(0.04 * Math.sin(2 * t));
    plot.view(matrix(zoom, 0, 0), { preventEvent: true });
  },
};
window.run = async (what) => {
  [zoom, at] = [1, [0, 0]];
  return measure(moves[what], SECONDS);
};
window.ready = "regl-scatterplot";
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--moving", type=int, default=10_000, help="words that move in time")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--size", type=int, nargs=2, default=(1200, 760))
    parser.add_argument("--ratio", type=float, default=1, help="pixels of the screen per pixel")
    parser.add_argument("--peer", type=Path, help="node_modules with regl-scatterplot and esbuild")
    parser.add_argument("--models", nargs="+", type=Path, help="serve these, and open the page")
    options = parser.parse_args()
    if options.models:
        for model in options.models:
            visit(model, options)
        return
    with tempfile.TemporaryDirectory() as directory:
        site = Path(directory)
        page = Path(str(files("qwem.explorer") / "page"))
        shutil.copytree(page, site / "page")
        report(options, site)


def report(options: argparse.Namespace, site: Path) -> None:
    rates: dict[str, tuple[float, float]] = {}
    write(site, "ours", OURS, options, options.words)
    write(site, "moving", OURS, options, options.moving)
    if options.peer:
        write(site, "peer", PEER, options, options.words)
        bundle(site, options.peer)
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        driver = browser(options.size, options.ratio)
        try:
            driver.get(f"{address}/ours.html")
            wait(driver)
            print(f"{options.words:,} words, {options.size[0]} × {options.size[1]} pixels")
            for move in ("pan", "zoom"):
                rates[f"{move}, with labels"] = measured(driver, move, True)
                rates[f"{move}, points alone"] = measured(driver, move, False)
            driver.get(f"{address}/moving.html")
            wait(driver)
            rates[f"{options.moving:,} words that move, with labels"] = measured(
                driver, "time", True
            )
            if options.peer:
                driver.get(f"{address}/peer.html")
                wait(driver)
                for move in ("pan", "zoom"):
                    rates[f"{move}, regl-scatterplot"] = measured(driver, move, False)
        finally:
            driver.quit()
            server.shutdown()
    for name, (rate, cost) in rates.items():
        print(f"{name:48} {rate:5.1f} frames/s  {cost:6.1f} ms of processor time per frame")


def visit(model: Path, options: argparse.Namespace) -> None:
    """Print how soon a model's page shows its words, and how fast it moves."""
    from qwem.explorer import load_models, serve

    addresses: Queue[str] = Queue()
    models = load_models([model])
    serving = {"ready": addresses.put}
    threading.Thread(target=serve, args=(models,), kwargs=serving, daemon=True).start()
    address = addresses.get()
    driver = browser(options.size, options.ratio)
    try:
        waits = []
        for _ in range(VISITS):
            driver.get("about:blank")
            driver.get(address)
            waits.append(driver.execute_async_script(FIRST_VIEW))
        print(
            f"{model.name}, {len(models[0].vocabulary):,} words: first view after "
            f"{sorted(waits)[VISITS // 2] / 1000:.2f} s"
        )
        for name, script in (("map, panned", PANNED), ("time, played", PLAYED)):
            began = processor_seconds(driver)
            frames = driver.execute_async_script(script, options.seconds)
            cost = 1000 * (processor_seconds(driver) - began) / max(frames, 1)
            rate = frames / options.seconds
            print(f"{name:48} {rate:5.1f} frames/s  {cost:6.1f} ms of processor time per frame")
    finally:
        driver.quit()


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *arguments: Any) -> None:  # noqa: D102
        pass


def write(site: Path, name: str, script: str, options: argparse.Namespace, words: int) -> None:
    width, height = options.size
    # The imports of a module come first, and made-up words before the rest.
    lines = script.strip().splitlines()
    text = "\n".join([lines[0], MADE_UP, *lines[1:]])
    size = max(2, min(7, 14 - 2.4 * len(str(words - 1))))
    for mark, value in (
        ("COUNT", words),
        ("SECONDS", options.seconds),
        ("WIDTH", width),
        ("HEIGHT", height),
        ("SIZE", json.dumps(size)),
    ):
        text = text.replace(mark, str(value))
    (site / f"{name}.js").write_text(text, "utf-8")
    page = PAGE.format(width=width, height=height, script=f"{name}.js")
    (site / f"{name}.html").write_text(page, "utf-8")


def bundle(site: Path, modules: Path) -> None:
    (site / "node_modules").symlink_to(modules.resolve())
    esbuild = modules.resolve() / ".bin" / "esbuild"
    bundled = ["--bundle", "--format=esm", "--minify", "--outfile=bundled.js", "--log-level=error"]
    subprocess.run([esbuild, "peer.js", *bundled], cwd=site, check=True)
    (site / "bundled.js").replace(site / "peer.js")


def browser(size: tuple[int, int], ratio: float) -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--enable-unsafe-swiftshader",
        f"--window-size={size[0] + 40},{size[1] + 160}",
        f"--force-device-scale-factor={ratio}",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(shutil.which("chromedriver"))))
    driver.set_script_timeout(120)
    return driver


def wait(driver: Any) -> str:
    return driver.execute_async_script(
        "const [done] = arguments;"
        "const look = () => (window.ready ? done(window.ready) : setTimeout(look, 50));"
        "look();"
    )


def measured(driver: Any, move: str, labels: bool) -> tuple[float, float]:
    began = processor_seconds(driver)
    found = driver.execute_async_script(
        "const [move, labels, done] = arguments; run(move, labels).then(done);", move, labels
    )
    spent = processor_seconds(driver) - began
    return found["rate"], 1000 * spent / max(found["frames"], 1)


def processor_seconds(driver: Any) -> float:
    """Processor time of the browser so far, in all its processes."""
    total = 0.0
    for process in psutil.Process(driver.service.process.pid).children(recursive=True):
        times = process.cpu_times()
        total += times.user + times.system
    return total


if __name__ == "__main__":
    main()
