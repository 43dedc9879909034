"""The explorer in one file: the page with its style, its script, and the data of a model."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem import __version__
from qwem._internal.output import writing_file
from qwem.errors import QwemError, SettingError
from qwem.evaluation.benchmarks import available_benchmark
from qwem.explorer import comparing, concepts, describing, layout, words
from qwem.explorer.collocates import collocates
from qwem.explorer.pages import page_file
from qwem.explorer.routes import encoded
from qwem.interpretation import read_tasks
from qwem.report import join_modules, quantized

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.explorer.models import Explored
    from qwem.explorer.spaces import Space

Json = dict[str, Any]

WORDS = 10_000
FINE_COLUMNS = 32
"""How many columns have 16 bits, for maps without visible steps; the others have 8."""

SECOND_SPACE_COLUMNS = 64
"""How many features the page has of the closed form that polished vectors started from."""

FEATURES, CLUSTERS, COLLOCATES, MOVED, NEAR = 100, 12, 2_000, 100, 10
_CONCEPTS, _PAIRS, _DRAWS = 8, 40, 999
_STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
_SCRIPT = re.compile(r'<script type="module" src="([^"]+)"></script>')
_META = '<meta charset="utf-8">'


def write_page(
    models: Sequence[Explored], path: str | os.PathLike[str], *, words: int = WORDS
) -> Path:
    """Write the explorer of a model to one HTML file that needs no server, and return its path.

    Parameters
    ----------
    models
        What `load_models` returned. The page has the first; of a second it has the comparison.
    path
        The file to write.
    words
        How many words the page has, the most frequent ones. Each costs about 400 bytes.

    >>> import tempfile, qwem
    >>> from qwem.explorer import explored
    >>> model = qwem.fit(["the king and the queen"] * 9 + ["a cat and a dog"] * 9, dim=2)
    >>> page = write_page([explored(model)], tempfile.mkdtemp() + "/page.html")
    >>> page.read_text("utf-8").startswith("<!doctype html>")
    True
    """
    if words < 1:
        raise SettingError(f"words must be at least 1, not {words}.")
    page = assembled(exported(models, words))
    with writing_file(path) as file:
        file.write(page.encode("utf-8"))
    return Path(path)


def exported(models: Sequence[Explored], words: int) -> Json:
    """Return the data of the page."""
    model = models[0]
    words = min(words, len(model.vocabulary))
    facts = describing.describe(0, model) | {"words": words, "can_name": False, "replicates": 0}
    spaces: dict[str, Json] = {}
    for place, space in enumerate(model.spaces.values()):
        columns = space.dim if place == 0 else min(space.dim, SECOND_SPACE_COLUMNS)
        spaces[space.name] = {"columns": columns, "parts": _parts(space, words, columns)}
        facts["spaces"][place] = _shortened(facts["spaces"][place], columns)
    closed = model.spaces.get("closed")
    groups, labels = layout.clusters(model.first, CLUSTERS)
    return {
        "format": 1,
        "version": __version__,
        "words": list(model.vocabulary.words[:words]),
        "counts": model.vocabulary.counts[:words].tolist(),
        "models": {"models": [facts], "compare": False},
        "spaces": spaces,
        "features": {
            space.name: describing.describe_features(
                model, space, 1, min(FEATURES, spaces[space.name]["columns"]), NEAR
            )
            for space in model.spaces.values()
        },
        "learned": None if closed is None else quantized(closed.learned()[:words, None], 16),
        "layout": quantized(layout.neighbour_map(model.first)[:words], 16),
        "clusters": {"answer": groups, "labels": _base64(labels[:words])},
        "concepts": _concepts(model.first),
        "collocates": _collocates(model, words),
        "trace": None if model.trace is None else describing.describe_trace(model),
        "compare": _comparison(models) if len(models) > 1 else None,
    }


def assembled(data: Json) -> str:
    """Return the page with its style sheets, its modules and its data inside.

    The Content Security Policy allows the script and the style by their checksums and nothing else.
    So no word can run as a script, whatever it contains, and nothing can be fetched or sent.
    """
    page = _text("index.html")
    styles = [_text(name) for name in _STYLE.findall(page)]
    entry = _SCRIPT.search(page)
    if entry is None:
        raise ValueError("index.html has no script to start with.")
    script = join_modules(entry[1], _text)
    # Only "<" can end the text of a script element, and JSON can escape it.
    embedded = encoded(data).decode("utf-8").replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src {_checksum(script)}; "
        f"style-src {' '.join(map(_checksum, styles))}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    allowed = f'{_META}\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = page.replace(_META, allowed, 1)
    each = iter(styles)
    page = _STYLE.sub(lambda _: f"<style>{next(each)}</style>", page)
    return _SCRIPT.sub(
        lambda _: (
            f'<script type="application/json" id="explorer-data">{embedded}</script>\n'
            f'<script type="module">{script}</script>'
        ),
        page,
    )


def _parts(space: Space, words: int, columns: int) -> list[Json]:
    """Return the rows of the most frequent words, the first columns with more bits."""
    rows = space.rows[:words, :columns].astype(np.float64)
    if space.row_scale is not None:
        rows *= space.row_scale[:words, None]
    fine = min(FINE_COLUMNS, columns)
    parts = [{"first": 0, **quantized(rows[:, :fine], 16)}]
    if columns > fine:
        parts.append({"first": fine, **quantized(rows[:, fine:], 8)})
    return parts


def _shortened(space: Json, columns: int) -> Json:
    lists = ("eigenvalues", "weights", "start", "rates", "learning_times")
    short = {name: space[name][:columns] for name in lists if space[name] is not None}
    return {**space, "dim": columns, **short}


def _concepts(space: Space) -> list[Json]:
    """Return the analysis of some relations, those of the Google analogies where they are known."""
    file = available_benchmark("google")
    found: list[Json] = []
    for task in [] if file is None else read_tasks(file):
        known = task.restrict(space.vocabulary).pairs[:_PAIRS]
        if len(known) < concepts.PAIRS_WITH_A_BULK or len(found) == _CONCEPTS:
            continue
        found.append(concepts.concept(space, task.name, known, _DRAWS))
    return found


def _collocates(model: Explored, count: int) -> Json | None:
    if model.counts is None:
        return None
    found: Json = {}
    for word in model.vocabulary.words[: min(count, COLLOCATES)]:
        try:
            near = collocates(model.counts, model.vocabulary, word, NEAR, "association")
        except QwemError:  # the counts are of another text
            continue
        found[word] = [[each["word"], each["count"], round(each["ratio"], 3)] for each in near]
    return found


def _comparison(models: Sequence[Explored]) -> Json:
    one, other = models[0].first, models[1].first
    far = comparing.distances(one, other)
    moved = comparing.moved(one, other, far, MOVED, 0)
    near = {
        each["word"]: {
            side: words.neighbours(model, space, space.dials(), each["word"], NEAR)["neighbours"]
            for side, model, space in (("a", models[0], one), ("b", models[1], other))
        }
        for each in moved["words"]
    }
    overlap = comparing.matched_features(one, other, 30)
    both = {"a": 0, "b": 1}
    return {"overlaps": {**both, **overlap}, "moved": {**both, **moved}, "neighbours": near}


def _text(name: str) -> str:
    found = page_file(name)
    if found is None:
        raise ValueError(f"The page has no file {name}.")
    return found.content.decode("utf-8")


def _checksum(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _base64(array: NDArray[np.uint8]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
