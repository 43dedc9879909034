"""The pages of a saved model: size of the file, first view, and frames per second of the map.

    python benchmarks/pages.py MODEL
    python benchmarks/pages.py MODEL --maps 40000
    python benchmarks/pages.py MODEL OTHER --pictures docs/how-to/images

Printed are the seconds to write the page to a file and its size; the seconds from opening the
served page to a map with named topics, the median of some visits; and the frames per second while
the map of all words is panned and zoomed, in a browser without a window.

With `--maps` the layout of the map of so many words is compared with UMAP, t-SNE and PaCMAP, as far
as umap-learn, openTSNE and pacmap are installed. Printed are the processor seconds that each takes
after a warm-up; the recall, which is the share of the 10 (or 30) nearest words of a word that are
among its 10 (or 30) nearest in the plane; and the trustworthiness, which is lower the farther off
the words are that lie wrongly beside a word in the plane. With `--pictures` every view is saved as
a picture.
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

VISITS, SECONDS, NEAR, SAMPLE = 5, 4.0, (10, 30), 2000
VIEWS = {
    "overview": "overview",
    "map": "map?word=music",
    "word": "word?word=king&with=queen",
    "analogies": "analogies",
    "relations": "relations",
    "shapes": "relations?name=months",
    "axes": "axes?from=poor+poverty&to=rich+wealth",
    "features": "features",
    "training": "training?t=3.2&x=3&y=4",
    "compare": "compare",
}
"""What is shown of each view in the pictures of the documentation."""

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
    hidden = ("--headless=new", "--hide-scrollbars")
    for argument in (*hidden, "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options)
    browser.set_script_timeout(120)
    try:
        yield browser
    finally:
        browser.quit()


@contextmanager
def served(*models: str) -> Iterator[str]:
    """Yield the address of a server of models."""
    command = [sys.executable, "-m", "qwem.cli", "explore", *models, "--no-browser", "--json"]
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


def take_pictures(models: list[str], directory: str) -> None:
    """Save a picture of each view, in few colours."""
    import io

    from PIL import Image

    with served(*models) as address, chromium() as browser:
        browser.set_window_size(1280, 1180)
        browser.get(address)
        for name, view in VIEWS.items():
            browser.execute_script("location.hash = arguments[0]", f"#{view}")
            time.sleep(2)  # until the view is there, which then says what it waits for
            wait(browser, "![...document.querySelectorAll('.waiting')].some((e) => e.offsetParent)")
            time.sleep(1)
            picture = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
            few = picture.convert("RGB").quantize(96)
            few.save(Path(directory, f"page-{name}.png"), optimize=True)


def compare_maps(model: str, words: int) -> None:
    """Print time and neighbourhood preservation of layouts of the most frequent words."""
    from qwem._internal.arrays import unit_rows
    from qwem.pages import load_models
    from qwem.pages.topics import neighbour_map

    space = load_models([model])[0].first
    units = unit_rows(space.vectors(slice(words))).astype(np.float32)

    def peer(module: str, make: Callable[[Any, Any], Any]) -> Callable[[int], Any] | None:
        return (lambda n: make(__import__(module), units[:n])) if find_spec(module) else None

    layouts = {
        "qwem": lambda n: neighbour_map(space, words=n),
        "UMAP": peer("umap", lambda m, x: m.UMAP(metric="cosine").fit_transform(x)),
        "t-SNE": peer("openTSNE", lambda m, x: m.TSNE(metric="cosine", n_jobs=-1).fit(x)),
        "PaCMAP": peer("pacmap", lambda m, x: m.PaCMAP(distance="angular").fit_transform(x)),
    }
    for name, lay_out in layouts.items():
        if lay_out is not None:
            lay_out(1000)  # compile
            start = time.process_time()
            places = np.asarray(lay_out(len(units)))
            taken = time.process_time() - start
            print(f"{name:<8} {taken:6.1f} processor s   {preserved(units, places)}", flush=True)


def preserved(units: Any, places: Any) -> str:
    """Return recall and trustworthiness (Venna and Kaski 2001) for a sample of words."""
    from scipy.spatial import cKDTree

    count = len(units)
    rows = np.random.default_rng(0).choice(count, min(SAMPLE, count), replace=False)
    _, flat = cKDTree(places).query(places[rows], max(NEAR) + 1)
    ranks = np.empty((len(rows), max(NEAR)), dtype=np.int64)
    for each, (row, beside) in enumerate(zip(rows, flat, strict=True)):
        order = np.argsort(-(units @ units[row]))
        rank = np.empty(count, dtype=np.int64)
        rank[order[order != row]] = np.arange(1, count)
        ranks[each] = rank[beside[beside != row][: max(NEAR)]]
    said = []
    for near in NEAR:
        recall = np.mean(ranks[:, :near] <= near)
        beyond = np.maximum(ranks[:, :near] - near, 0).sum(axis=1).mean()
        trust = 1 - 2 / (near * (2 * count - 3 * near - 1)) * beyond
        said.append(f"at {near}: recall {recall:.3f}, trustworthiness {trust:.4f}")
    return "   ".join(said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the pages of a model.")
    parser.add_argument("models", metavar="MODEL", nargs="+")
    parser.add_argument("--maps", type=int, metavar="N", help="compare layouts of N words")
    parser.add_argument("--pictures", metavar="DIRECTORY", help="save a picture of every view")
    options = parser.parse_args()
    if options.pictures:
        take_pictures(options.models, options.pictures)
    elif options.maps:
        compare_maps(options.models[0], options.maps)
    else:
        measure(options.models[0])
