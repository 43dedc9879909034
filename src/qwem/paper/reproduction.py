"""Reproduction of the paper: all recipes, their files, and the page that shows them."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.figures import save_figure
from qwem._internal.files import writing_file
from qwem._internal.resources import Stopwatch, progress
from qwem._internal.results import as_plain, html_table
from qwem.errors import CorpusError, QwemError, SettingError
from qwem.paper.ablation import figure_ablation, figure_alignment, figure_lazy
from qwem.paper.benchmarks import figure_growth, table_1, table_robustness
from qwem.paper.dynamics import figure_1, figure_2
from qwem.paper.experiment import Experiment
from qwem.paper.features import figure_3, figure_overlaps, figure_shapes
from qwem.paper.runs import SCALES, Scale, differences
from qwem.paper.tasks import figure_4, figure_categories, figure_geometry

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }}
nav a {{ margin-right: 1rem; white-space: nowrap; }}
section {{ border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: .5rem; }}
img {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; font-size: .9rem; display: block; overflow-x: auto; }}
th, td {{ border-bottom: 1px solid #ddd; padding: .3rem .8rem .3rem 0; text-align: left;
  vertical-align: top; }}
.found {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr));
  gap: 0 2rem; }}
h3 {{ font-size: 1rem; margin: .6rem 0 0; }}
p {{ margin: .3rem 0; }}
small {{ color: #555; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{about}</p>
<nav>{links}</nav>
<section id="differences">
<h2>What differs from the paper's protocol</h2>
{differences}
</section>
{sections}
</body>
</html>
"""


def _section(name: str, record: Mapping[str, Any]) -> str:
    found = "".join(f"<p>{escape(sentence)}</p>" for sentence in record["findings"])
    settings = "; ".join(f"{key}: {value}" for key, value in record["settings"].items())
    header, *rows = record["table"] or [[]]
    table = html_table(header, rows, row_headers=True) if rows else ""
    title, figure, files = escape(record["title"]), "", ""
    if record["has_figure"]:
        figure = f'<a href="{name}.pdf"><img src="{name}.png" alt="{title}"></a>'
        files = f'<a href="{name}.pdf">PDF</a>, '
    return f"""<section id="{name}">
<h2>{title}</h2>
{figure}
{table}<div class="found">
<div><h3>The paper</h3><p>{escape(record["claim"])}</p></div>
<div><h3>This run</h3>{found}</div>
</div>
<p><small>{escape(settings)}. {files}<a href="{name}.json">numbers</a>.</small></p>
</section>"""


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
    "lazy": figure_lazy,
    "growth": figure_growth,
    "shapes": figure_shapes,
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
    """The reasons why figures and tables are missing, by name."""


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

    Corpora, counts, spectra and training runs are kept in ``output/cache``. Later calls reuse them,
    also for other figures, and an interrupted call continues where it stopped.

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
    for name in only or ():
        if name not in RECIPES:
            raise SettingError(
                f"There is no figure or table {name!r}; there are {', '.join(RECIPES)}."
            )
    names = [name for name in RECIPES if only is None or name in only]
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
                    records[name] = _run_recipe(name, experiment, directory)
                except CorpusError:  # the other recipes would fail too
                    for made in (experiment.directory, directory):
                        with suppress(OSError):  # not empty
                            made.rmdir()
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


def _run_recipe(name: str, experiment: Experiment, directory: Path) -> dict[str, Any]:
    """Make one figure or table, and write its files."""
    recipe = RECIPES[name]
    outcome = recipe.make(experiment)
    record = {
        "title": recipe.title,
        "claim": recipe.claim,
        "findings": list(outcome.findings),
        "numbers": as_plain(outcome.numbers),
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


def _page(
    directory: Path,
    experiment: Experiment,
    records: dict[str, dict[str, Any]],
    failures: dict[str, str],
) -> str:
    """Return the HTML page of all recipes with records in the directory, old or new."""
    shown = {
        name: records.get(name) or json.loads((directory / f"{name}.json").read_text("utf-8"))
        for name in RECIPES
        if name in records or ((directory / f"{name}.json").exists() and name not in failures)
    }
    files = ", ".join(Path(path).name for path in experiment.paths)
    about = (
        "Closed-Form Training Dynamics Reveal Learned Features and Linear Structure in "
        f"Word2Vec-like Models (Karkada, Simon, Bahri and DeWeese, 2025), reproduced from {files} "
        f"by qwem {__version__}. Below each figure is what the paper found, what this run "
        "found, in numbers computed from its results, and its settings."
    )
    for name, reason in failures.items():
        about += f" {name} could not be made: {reason}"
    size = experiment.scale.dynamics
    # The paper counts the words of its text before rare ones are discarded, and so do we.
    words = int(experiment.corpus(size.vocab_size).settings["words_counted"])
    rows = differences(experiment.scale, words, files)
    return _PAGE.format(
        title="The paper, reproduced",
        about=escape(about),
        differences=html_table(("", "the paper", "here"), rows, row_headers=True),
        links="".join(f'<a href="#{name}">{name}</a>' for name in shown),
        sections="\n".join(_section(name, record) for name, record in shown.items()),
    )
