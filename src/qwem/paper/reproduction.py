"""Reproduction of the paper: all recipes, their files, and the page that shows them."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.figures import save_figure
from qwem._internal.files import writing_file
from qwem._internal.resources import Stopwatch, progress
from qwem.errors import CorpusError, QwemError, SettingError
from qwem.paper.ablation import figure_ablation, figure_alignment
from qwem.paper.benchmarks import table_1, table_robustness
from qwem.paper.categories import figure_categories
from qwem.paper.experiment import Experiment
from qwem.paper.features import figure_3, figure_overlaps
from qwem.paper.figure_1 import figure_1
from qwem.paper.figure_2 import figure_2
from qwem.paper.figure_4 import figure_4, figure_geometry
from qwem.paper.page import write_page
from qwem.paper.scale import SCALES, Scale, differences

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

RECIPES = {
    "fig1": figure_1,
    "fig2": figure_2,
    "fig3": figure_3,
    "table1": table_1,
    "fig4": figure_4,
    "overlaps": figure_overlaps,
    "categories": figure_categories,
    "ablation": figure_ablation,
    "alignment": figure_alignment,
    "geometry": figure_geometry,
    "robustness": table_robustness,
}
"""The figures and tables by the names that ``--only`` takes, in the order of the page."""


@dataclass(frozen=True)
class Reproduction:
    """A finished reproduction: its page, and for each recipe its record and its duration.

    >>> found = reproduce("wiki.parquet", "out", only=["fig2"])  # doctest: +SKIP
    >>> found.records["fig2"]["numbers"]["small"]["mean_error"]  # doctest: +SKIP
    """

    page: Path
    records: dict[str, dict[str, Any]]
    seconds: dict[str, float]
    failures: dict[str, str]
    """Why the figures and tables that are missing could not be made."""


def reproduce(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    scale: str | Scale = "laptop",
    only: Sequence[str] | None = None,
    analogies: str = "google",
    similarity: Sequence[str] | None = None,
) -> Reproduction:
    """Make the paper's figures and tables from a text, and a page that lays them out.

    Corpora, counts, spectra and training runs are kept in ``output/cache``. A second call, also for
    other figures, uses what is there, and an interrupted one continues where it stopped.

    Parameters
    ----------
    corpus
        Text, as `qwem.Corpus.from_files` reads it; the paper's is English Wikipedia.
    output
        A directory: for each recipe NAME.png, NAME.pdf and NAME.json, and ``index.html``.
    scale
        The name of one of `SCALES`, or a `Scale` of your own.
    only
        Names of `RECIPES`; all by default.
    analogies, similarity
        Benchmark files or names. By default Google's analogies, and those of MEN and WordSim353
        that are available.

    >>> reproduce("wiki.parquet", "out", only=["fig2", "table1"]).page  # doctest: +SKIP
    """
    names = _checked(only)
    if isinstance(scale, str):
        if scale not in SCALES:
            raise SettingError(f"There is no scale {scale!r}; there are {', '.join(SCALES)}.")
        scale = SCALES[scale]
    paths = [corpus] if not isinstance(corpus, list | tuple) else list(corpus)
    directory = Path(output)
    experiment = Experiment(
        [str(path) for path in paths], scale, directory / "cache", analogies, similarity
    )
    watch = Stopwatch()
    records: dict[str, dict[str, Any]] = {}
    failures: dict[str, QwemError] = {}
    with progress("reproducing", len(names), "figure") as bar:
        for name in names:
            bar.set_postfix_str(name)
            logger.info("recipe %s", name)
            with watch.stage(name):
                try:
                    records[name] = _follow(name, experiment, directory)
                except CorpusError:  # the others would meet it too
                    _remove_empty(experiment.directory, directory)
                    raise
                except QwemError as error:
                    failures[name] = error
            bar.update()
    if not records:
        raise next(iter(failures.values()))
    reasons = {name: str(error) for name, error in failures.items()}
    page = directory / "index.html"
    with writing_file(page) as file:
        file.write(_page(directory, experiment, records, reasons).encode())
    return Reproduction(page, records, watch.seconds, reasons)


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
        "has_figure": outcome.figure is not None,
        "table": [list(row) for row in outcome.table],
        "scale": experiment.scale.to_dict(),
        "qwem": __version__,
    }
    if outcome.figure is not None:
        save_figure(outcome.figure, directory / name)
    with writing_file(directory / f"{name}.json") as file:
        file.write(json.dumps(record, indent=2, ensure_ascii=False).encode())
    return record


def _remove_empty(*directories: Path) -> None:
    for directory in directories:
        with suppress(OSError):
            directory.rmdir()


def _page(
    directory: Path,
    experiment: Experiment,
    records: dict[str, dict[str, Any]],
    failures: dict[str, str],
) -> str:
    """Return the page of all recipes whose records are here, made now or before."""
    shown = {
        name: records.get(name) or json.loads((directory / f"{name}.json").read_text("utf-8"))
        for name in RECIPES
        if name in records or ((directory / f"{name}.json").exists() and name not in failures)
    }
    files = ", ".join(Path(path).name for path in experiment.paths)
    about = (
        "Closed-Form Training Dynamics Reveal Learned Features and Linear Structure in "
        f"Word2Vec-like Models (Karkada, Simon, Bahri and DeWeese, 2025), made again from {files} "
        f"by qwem {__version__}. Below each figure is what the paper found, what this run "
        "found, in numbers computed from its results, and its settings."
    )
    for name, reason in failures.items():
        about += f" {name} could not be made: {reason}"
    size = experiment.scale.dynamics
    # The paper counts the words of its text before rare ones are discarded, and so do we.
    words = int(experiment.corpus(size.vocab_size).settings["words_counted"])
    rows = differences(experiment.scale, words, files)
    return write_page("The paper, reproduced", about, rows, shown)
