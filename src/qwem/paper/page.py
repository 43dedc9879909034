"""The page of a reproduction: its recipes, each with the paper's finding and this run's."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from qwem._internal.results import html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from qwem.paper.experiment import Experiment


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a recipe found in one reproduction."""

    figure: Figure | None
    """None for a recipe that is only a table."""
    findings: tuple[str, ...]
    """Sentences with numbers that were computed from the results."""
    numbers: dict[str, Any]
    """The same numbers as plain data."""
    settings: dict[str, Any]
    """The settings that matter for this figure: V, d, σ, steps and so on."""
    table: tuple[tuple[str, ...], ...] = ()
    """The rows of a table, its header first."""


@dataclass(frozen=True)
class Recipe:
    """One figure or table of the paper."""

    title: str
    claim: str
    """What the paper found."""
    make: Callable[[Experiment], Outcome]


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


def recipe(title: str, claim: str) -> Callable[[Callable[[Experiment], Outcome]], Recipe]:
    """Turn a function of an experiment into a `Recipe` with a title and the paper's claim."""

    def named(make: Callable[[Experiment], Outcome]) -> Recipe:
        return Recipe(title, claim, make)

    return named


def write_page(
    title: str,
    about: str,
    differences: Sequence[Sequence[str]],
    records: Mapping[str, Mapping[str, Any]],
) -> str:
    """Return the HTML page of a reproduction, with links relative to it.

    Parameters
    ----------
    title, about
        The heading, and a paragraph below it.
    differences
        How this differs from the paper: what, the paper's choice, and the one made here.
    records
        The records of the recipes.

    >>> "<h1>Two &amp; two</h1>" in write_page("Two & two", "Nothing yet.", [], {})
    True
    """
    table = html_table(("", "the paper", "here"), differences, row_headers=True)
    links = "".join(f'<a href="#{name}">{escape(name)}</a>' for name in records)
    sections = "\n".join(_section(name, record) for name, record in records.items())
    return _PAGE.format(
        title=escape(title), about=escape(about), differences=table, links=links, sections=sections
    )


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
