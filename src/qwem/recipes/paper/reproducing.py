"""The whole reproduction: recipes in a row, their files, and the page."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.artefact import writing_file
from qwem._internal.progress import progress
from qwem._internal.stopwatch import Stopwatch
from qwem.errors import SettingError
from qwem.figures import save_figure
from qwem.recipes.paper.experiment import Experiment
from qwem.recipes.paper.page import write_page
from qwem.recipes.paper.settings import SCALES, Scale
from qwem.recipes.paper.stages import Stages
from qwem.recipes.paper.table import RECIPES

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reproduction:
    """What was made: the page, and of each recipe its record and how long it took."""

    page: Path
    records: dict[str, dict[str, Any]]
    seconds: dict[str, float]


def reproduce(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    preset: str | Scale = "laptop",
    only: Sequence[str] | None = None,
    analogies: str = "google",
    similarity: Sequence[str] | None = None,
) -> Reproduction:
    """Make the paper's figures and tables from a text, and a page that lays them out.

    Everything costly is kept below ``output/cache``, so that a second run, or one of other
    figures, takes what is there, and an interrupted one goes on where it was.

    Parameters
    ----------
    corpus
        Text, as `qwem.Corpus.from_files` reads it; the paper's is English Wikipedia.
    output
        A directory: for each recipe NAME.png, NAME.pdf and NAME.json, and ``index.html``.
    preset
        A name of `SCALES`, or settings of your own.
    only
        Names of `RECIPES`; all by default.
    analogies, similarity
        Benchmark files or names. By default Google's analogies, and of MEN and WordSim353 those
        that can be had.
    """
    names = _checked(only)
    if isinstance(preset, str) and preset not in SCALES:
        raise SettingError(f"There is no preset {preset!r}; there are {', '.join(SCALES)}.")
    scale = SCALES[preset] if isinstance(preset, str) else preset
    paths = [corpus] if not isinstance(corpus, list | tuple) else list(corpus)
    directory = Path(output)
    stages = Stages([str(path) for path in paths], scale, directory / "cache")
    experiment = Experiment(stages, analogies, similarity)
    watch = Stopwatch()
    records: dict[str, dict[str, Any]] = {}
    with progress("reproducing", len(names), "figure") as bar:
        for name in names:
            bar.set_postfix_str(name)
            logger.info("recipe %s", name)
            with watch.stage(name):
                records[name] = _follow(name, experiment, directory)
            bar.update()
    page = directory / "index.html"
    with writing_file(page) as file:
        file.write(_page(directory, stages, records).encode())
    return Reproduction(page, records, watch.seconds)


def _checked(only: Sequence[str] | None) -> list[str]:
    for name in only or ():
        if name not in RECIPES:
            raise SettingError(
                f"There is no figure or table {name!r}; there are {', '.join(RECIPES)}."
            )
    return [name for name in RECIPES if only is None or name in only]


def _follow(name: str, experiment: Experiment, directory: Path) -> dict[str, Any]:
    """Make one figure and write its files."""
    recipe = RECIPES[name]
    outcome = recipe.make(experiment)
    record = {
        "title": recipe.title,
        "claim": recipe.claim,
        "findings": list(outcome.findings),
        "numbers": outcome.numbers,
        "settings": outcome.settings,
        "table": [list(row) for row in outcome.table],
        "scale": experiment.scale.to_dict(),
        "qwem": __version__,
    }
    save_figure(outcome.figure, directory / name)
    with writing_file(directory / f"{name}.json") as file:
        file.write(json.dumps(record, indent=2, ensure_ascii=False).encode())
    return record


def _page(directory: Path, stages: Stages, records: dict[str, dict[str, Any]]) -> str:
    """Return the page of all recipes that have been followed here, now or before."""
    shown = {
        name: records.get(name) or json.loads((directory / f"{name}.json").read_text("utf-8"))
        for name in RECIPES
        if name in records or (directory / f"{name}.json").exists()
    }
    files = ", ".join(Path(path).name for path in stages.paths)
    about = (
        "Closed-Form Training Dynamics Reveal Learned Features and Linear Structure in "
        f"Word2Vec-like Models (Karkada, Simon, Bahri and DeWeese, 2025), made again from {files} "
        f"by qwem {__version__}. Below each figure is what the paper found, what this run "
        "found, in numbers computed from its results, and its settings."
    )
    return write_page("The paper, reproduced", about, shown)
