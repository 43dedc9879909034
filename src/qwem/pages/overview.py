"""Overview: sentences about a model for readers new to the method, and tables of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.results import Result, ShownTable, as_cell
from qwem.errors import DataError
from qwem.model import Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from qwem.model import Model

MEANINGS = {
    name: option.help.partition(". ")[0].rstrip(".") for name, option in Settings.options().items()
}
"""The meaning of each field of `qwem.Settings`."""

_TOPICS_NAMED = 4
_TARGETS = {
    "mstar": "for each pair, how much more often the two words occur together than by chance, as a "
    "number between −2 and 2",
    "pmi": "for each pair, the pointwise mutual information: the logarithm of how many times more "
    "often than by chance the two words occur together",
    "ppmi": "for each pair, the positive pointwise mutual information: the logarithm of how many "
    "times more often than by chance the two words occur together, and zero if less often",
}


def headline_numbers(model: Model, corpus: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the sizes of the model and its text, each with its label."""
    numbers = []
    if "documents_kept" in corpus:
        numbers.append((f"{corpus['documents_kept']:,}", "documents"))
    if "words_counted" in corpus:
        numbers.append((_large(corpus["words_counted"]), "running words"))
    numbers.append((f"{len(model.vocabulary):,}", "different words kept"))
    if corpus.get("words_counted"):
        covered = corpus["words_kept"] / corpus["words_counted"]
        numbers.append((f"{covered:.0%}", "of the text is made of these words"))
    numbers.append((f"{model.spectrum.dim}", "features learned"))
    return numbers


def paragraphs(model: Model, corpus: Mapping[str, Any]) -> list[str]:
    """Return how the model was made, one paragraph per step."""
    return [_reading(model, corpus), _counting(model.settings), _learning(model)]


def settings_rows(model: Model) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of each setting, and the fingerprint of the text."""
    rows = [(name, str(value), MEANINGS.get(name, "")) for name, value in model.settings.items()]
    if "fingerprint" in model.corpus:
        rows.append(("fingerprint", model.corpus["fingerprint"], "identifies the text"))
    return rows


def training_note(model: Model) -> str:
    """Return how the replayed training differs from the paper's, if it does."""
    notes = []
    if model.spectrum.row_scale is not None:
        notes.append("Since this model weights words differently, each word has its own step size.")
    if model.spectrum.signed:
        notes.append("Here every word has a second vector, for its role as a neighbour of others.")
    if model.polished is not None:
        notes.append("The polishing that followed is not part of this picture.")
    return " ".join(notes)


def about_text(topics: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on what the text is about, from its topics, the largest first.

    >>> about_text([{"title": "music, band", "share": 0.3}, {"title": "law", "share": 0.2}])
    'Apart from function words, 30% of the text are words around music, band and 20% around law.'
    """
    telling = [topic for topic in topics if not topic.get("general")] or topics
    first, *rest = telling[:_TOPICS_NAMED]
    said = [f"{first['share']:.0%} of the text are words around {first['title']}"]
    said += [f"{topic['share']:.0%} around {topic['title']}" for topic in rest]
    *most, last = said
    listed = f"{'; '.join(most)} and {last}" if most else last
    return f"Apart from function words, {listed}."


def _reading(model: Model, corpus: Mapping[str, Any]) -> str:
    kept = f"The {len(model.vocabulary):,} most frequent words were kept"
    if "words_read" not in corpus:
        return f"The model was fitted to ready-made counts. {kept}."
    text = f"The text has {corpus['documents_read']:,} documents and {_large(corpus['words_read'])}"
    text += " words."
    left_out = corpus["documents_read"] - corpus["documents_kept"]
    if left_out:
        text += f" {left_out:,} documents of fewer than {corpus['min_tokens']:,} words were left"
        text += " out."
    if not corpus["words_counted"]:
        return f"{text} {kept}."
    covered = corpus["words_kept"] / corpus["words_counted"]
    rest = "all other words were dropped" if corpus["oov"] == "drop" else "all other words are gaps"
    return f"{text} {kept}: they make up {covered:.1%} of it, and {rest}."


def _counting(settings: Mapping[str, Any]) -> str:
    window = settings.get("window")
    if window is None:
        return "The counts of word pairs do not say how far apart the two words may be."
    text = f"Two words form a pair if they are at most {window} words apart."
    if settings.get("weights") == "dynamic" and window > 1:
        text += f" Adjacent words count {window} times as much as words at that distance."
    if settings.get("subsample"):
        text += " The most frequent words, which say least about their neighbours, were thinned out"
        text += " first."
    return text + " Every pair was counted, exactly."


def _learning(model: Model) -> str:
    settings = model.settings
    text = "The counts give one matrix with a row and a column per word. It says, "
    text += f"{_TARGETS[settings['target']]}. Its {model.spectrum.dim} strongest eigenvectors are "
    text += "the features. No network was trained: training word2vec would find these features one "
    text += "after the other, and here they are computed at once."
    if settings.get("shrinkage"):
        text += " Pairs with little evidence count less."
    if settings.get("coupling"):
        heavier = "Rare" if settings["coupling"] < 0 else "Frequent"
        text += f" {heavier} words have more weight than others."
    if model.polished is not None:
        text += " The vectors were then polished by a few steps of word2vec's own training:"
        text += (
            " neighbours, topics, analogies and scores are of the polished vectors, while features"
        )
        text += " and the replay of training are of the closed form before that."
    return text


def _large(number: int) -> str:
    """Return a count as people say it.

    >>> _large(35_918_170), _large(9_120)
    ('35.9 million', '9,120')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:,}"


SHOWN_ROWS = 50
"""The number of rows of a table on the page."""

_NAMES = {"p_value": "p", "q_value": "q"}


def read_results(paths: Sequence[str | os.PathLike[str]]) -> dict[str, ShownTable]:
    """Read results that commands printed with ``--json``; each is named after its file.

    Parameters
    ----------
    paths
        The files. A file with several results has one table for each.
    """
    found: dict[str, ShownTable] = {}
    for path in paths:
        try:
            data = json.loads(Path(path).read_text("utf-8"))
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}.") from error
        except ValueError as error:
            raise DataError(f"{path} can't be read as JSON: {error}.") from error
        tables = _tables(data)
        if not tables:
            raise DataError(
                f"{path} has no result to show; write it with qwem weat, axis, compare, "
                "regression, update or similar, and --json."
            )
        title = Path(path).stem.replace("-", " ").replace("_", " ")
        for name, table in tables.items():
            found[f"{title}: {name}" if len(tables) > 1 else title] = table
    return found


def results_data(results: Mapping[str, Result | ShownTable]) -> list[dict[str, Any]]:
    """Return results for the page: title, heading, column names, cells, and a drawing."""
    found = []
    for title, result in results.items():
        table = result.shown() if isinstance(result, Result) else result
        rows = table.rows[:SHOWN_ROWS]
        header = [_NAMES.get(name, name).replace("_", " ") for name in (rows[0] if rows else ())]
        found.append(
            {
                "title": title,
                "heading": table.heading.strip(),
                "header": header,
                "rows": [[_cell(value) for value in row.values()] for row in rows],
                "more": max(0, len(table.rows) - SHOWN_ROWS),
                "drawn": table.chart,
                "numbers": [_chart_numbers(table.chart, row) for row in rows],
            }
        )
    return found


def _tables(data: Any) -> dict[str, ShownTable]:
    """Return the tables in the JSON of a command, from its top level or one level below."""
    if not isinstance(data, dict):
        return {}
    candidates = {"": data, **{name: each for name, each in data.items() if name != "shown"}}
    tables = {}
    for name, each in candidates.items():
        shown = each.get("shown") if isinstance(each, dict) else None
        if not isinstance(shown, dict):
            continue
        heading, rows, chart = (shown.get(key) for key in ("heading", "rows", "chart"))
        if not isinstance(heading, str) or chart not in ("", "intervals", "paths"):
            continue
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            tables[name] = ShownTable(heading, rows, chart)
    return tables


def _cell(value: Any) -> str:
    text = as_cell(value)
    return text.replace("-", "−") if isinstance(value, int | float) else text


def _chart_numbers(chart: str, row: dict[str, Any]) -> list[float]:
    """Return the ends of a row's interval or the points of its path; none if one is missing."""
    if not chart:
        return []
    some = [row.get("low"), row.get("high")] if chart == "intervals" else list(row.values())[1:]
    numbers = [float(number) for number in some if isinstance(number, int | float)]
    return numbers if len(numbers) == len(some) else []
