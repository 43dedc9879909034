"""The pages of a saved model: size of the file, first view, and frames per second of the map.

    python benchmarks/pages.py MODEL
    python benchmarks/pages.py MODEL --maps

Printed are the seconds to write the page to a file and its size; the seconds from opening the
served page to a map with named topics, the median of some visits; and the frames per second while
the map of all words is panned and zoomed, in a browser without a window.

With `--maps` the layout of the map is compared with UMAP, t-SNE and PaCMAP, as far as umap-learn,
openTSNE and pacmap are installed: the seconds that each takes, and the share of the 15 nearest
words of a word that are among its 15 nearest in the plane.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VISITS, SECONDS, NEAR, SAMPLE = 5, 4.0, 15, 3000
MOVE = """
const [seconds, done] = arguments;
const box = document.querySelector('.map .words');
box.addEventListener('drawn', ({ detail: map }) => {
  let first = 0, frames = 0;
  const frame = (now) => {
    first ||= now;
    const passed = (now - first) / 1000;
    if (passed >= seconds) return done(frames / passed);
    frames += 1;
    if (Math.floor(passed) % 2) map.zoomBy(1 + 0.02 * Math.sin(4 * passed));
    else map.pan(6 * Math.cos(3 * passed), 4 * Math.sin(3 * passed));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}, { once: true });
box.dispatchEvent(new KeyboardEvent('keydown', { key: '0' }));
"""


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser without a window or graphics hardware."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options)
    browser.set_script_timeout(120)
    try:
        yield browser
    finally:
        browser.quit()


@contextmanager
def served(model: str) -> Iterator[str]:
    """Yield the address of a server of a model."""
    command = [sys.executable, "-m", "qwem.cli", "explore", model, "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()


def wait(browser: Any, condition: str) -> None:
    """Wait until an expression is true in the page."""
    browser.execute_async_script(
        "const done = arguments[0];"
        f"const look = () => ({condition}) ? done() : setTimeout(look, 5); look();"
    )


def measure(model: str) -> None:
    """Print the measurements of the pages of a model."""
    from qwem.pages import load_models, write_page

    with tempfile.TemporaryDirectory() as directory:
        models = load_models([model])
        models[0].make_topics()
        start = time.perf_counter()
        page = write_page(models, Path(directory, "page.html"))
        taken = time.perf_counter() - start
        print(f"file      {page.stat().st_size / 1e6:.2f} MB in {taken:.1f} s")
    with served(model) as address, chromium() as browser:
        first = []
        for _ in range(VISITS):
            browser.get("about:blank")
            start = time.perf_counter()
            browser.get(address)
            wait(browser, "document.querySelector('.overview .words')?.dataset.shown === 'topics'")
            first.append(time.perf_counter() - start)
        print(f"opened    named topics on the map after {statistics.median(first):.2f} s")
        browser.execute_script("location.hash = '#map'")
        wait(browser, "document.querySelector('.map .words')?.dataset.shown")
        rate = browser.execute_async_script(MOVE, SECONDS)
        print(f"map       {rate:.0f} frames per second, {len(models[0].vocabulary):,} words")


def compare_maps(model: str) -> None:
    """Print time and neighbourhood preservation of layouts."""
    from qwem._internal.arrays import unit_rows
    from qwem.pages import load_models
    from qwem.pages.topics import neighbour_map

    space = load_models([model])[0].first
    units = unit_rows(space.vectors(slice(None), space.dials())).astype(np.float32)

    def peer(module: str, make: Callable[[Any], Any]) -> Callable[[], Any] | None:
        return (lambda: make(__import__(module))) if find_spec(module) else None

    layouts = {
        "qwem": lambda: neighbour_map(space),
        "UMAP": peer("umap", lambda m: m.UMAP(metric="cosine").fit_transform(units)),
        "t-SNE": peer("openTSNE", lambda m: m.TSNE(metric="cosine", n_jobs=-1).fit(units)),
        "PaCMAP": peer("pacmap", lambda m: m.PaCMAP(distance="angular").fit_transform(units)),
    }
    for name, lay_out in layouts.items():
        if lay_out is not None:
            start = time.perf_counter()
            places = np.asarray(lay_out())
            taken = time.perf_counter() - start
            print(f"{name:<8} {taken:6.1f} s   {preserved(units, places):.3f} of neighbours kept")


def preserved(units: Any, places: Any) -> float:
    """Return the share of the nearest words that are nearest in the plane too."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(0)
    rows = rng.choice(len(units), min(SAMPLE, len(units)), replace=False)
    cosines = units[rows] @ units.T
    cosines[np.arange(len(rows)), rows] = -2
    near = np.argpartition(-cosines, NEAR, axis=1)[:, :NEAR]
    _, flat = cKDTree(places).query(places[rows], NEAR + 1)
    pairs = zip(near.tolist(), flat[:, 1:].tolist(), strict=True)
    return float(np.mean([len(set(a) & set(b)) / NEAR for a, b in pairs]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the pages of a model.")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--maps", action="store_true", help="compare layouts of the map")
    options = parser.parse_args()
    (compare_maps if options.maps else measure)(options.model)
