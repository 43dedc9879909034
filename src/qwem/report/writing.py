"""The page assembled: text, tables, data, style and scripts in one file."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.output import writing_file
from qwem.comparison import Stability
from qwem.errors import SettingError
from qwem.evaluation.suite import evaluate_available
from qwem.report.assets import asset, join_modules
from qwem.report.content import spectrum_data, words_data
from qwem.report.markup import (
    feature_cards,
    overview,
    score_section,
    starting_words,
    task_section,
)
from qwem.report.results import results_section
from qwem.report.stability import stability_section
from qwem.report.summary import corpus_facts, lookup_note, spectrum_note, training_note
from qwem.report.tasks import tasks_data

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from qwem._internal.results import Result, ShownTable
    from qwem.corpus import Corpus
    from qwem.model import Model

NAMED_FEATURES = 200
"""How many features of the spectrum show their words."""

SEARCHED_DIM = 200
"""In how many dimensions the page looks for neighbours. Each costs a byte per word."""


def write_report(
    model: Model | Stability,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    analogies: str | os.PathLike[str] | None = "google",
    similarity: Sequence[str | os.PathLike[str]] = ("wordsim353", "simlex999", "men"),
    tasks: str | os.PathLike[str] | None = "google",
    features: int = 12,
    words: int = 10_000,
    init_scale: float = 1e-6,
    corpus: Corpus | None = None,
    results: Mapping[str, Result | ShownTable] | None = None,
    names: Mapping[int, str] | None = None,
) -> Path:
    """Write a report on a model to one HTML file that needs no network, and return its path.

    Parameters
    ----------
    model
        A fitted model. Of a `Stability` the page also says how sure the nearest words are.
    path
        The file to write.
    title
        The heading of the page.
    analogies, similarity
        Benchmarks to score the vectors on, by name or path, as in
        `qwem.evaluation.evaluate_available`: a benchmark given by name is left out if its file is
        absent or asks about other words.
    tasks
        Word pairs whose difference vectors are analyzed, as `qwem.interpretation.read_tasks` reads
        them; a name is treated as above, and None leaves this part out.
    features
        How many features have a card.
    words
        How many words the page knows, the most frequent ones. They can be looked up, and tasks are
        analyzed among them; scores are always of all words. Each costs about 300 bytes.
    init_scale
        σ, the scale of the random initialization from which the replayed training starts.
    corpus
        The corpus that was counted, for a model that was fitted to counts.
    results
        What was asked of the vectors, by title: association tests, projections on an axis, changes
        between corpora, a regression or any other result of `qwem.comparison`; or what
        `read_results` read.
    names
        Names of features, by their rank from 1.

    >>> import tempfile, qwem
    >>> model = qwem.fit(["the king and the queen"] * 9 + ["a cat and a dog"] * 9, dim=1)
    >>> page = write_report(model, tempfile.mkdtemp() + "/report.html", tasks=None)
    >>> page.read_text("utf-8").startswith("<!doctype html>")
    True
    """
    from qwem.dynamics import closed_form
    from qwem.interpretation import features as features_of

    if features < 1 or words < 1:
        raise SettingError(f"features and words must be at least 1, not {features} and {words}.")
    stability = model if isinstance(model, Stability) else None
    model = model.model if isinstance(model, Stability) else model
    spectrum = model.spectrum
    run = closed_form(spectrum, init_scale=init_scale)
    named = features_of(spectrum, min(spectrum.dim, max(features, NAMED_FEATURES))).features
    embedding = model.embedding()
    # The first features of a closed form are a smaller model; polished vectors can't be cut.
    part = spectrum.dim if model.polished is not None else min(spectrum.dim, SEARCHED_DIM)
    searched = embedding if part == spectrum.dim else model.embedding(dim=part)
    known = spectrum.embedding().restrict(min(words, len(embedding)))
    names = {} if names is None else names
    data = {
        **spectrum_data(run, named, names),
        **words_data(run, searched, words),
        "tasks": [] if tasks is None else tasks_data(known, tasks),
    }
    evaluation = evaluate_available(embedding, analogies, similarity)
    scores = score_section(evaluation, len(embedding)) if evaluation else ""
    page = fill(
        data,
        title=escape(title or f"{len(model.vocabulary):,} words in {spectrum.dim} features"),
        overview=overview(model, corpus_facts(model, corpus)),
        cards=feature_cards(named[:features], run, names),
        spectrum_note=escape(spectrum_note(model)),
        training_note=escape(training_note(model)),
        lookup_note=escape(lookup_note(model, words, part)),
        **starting_words(data["words"]),
        stability="" if stability is None else stability_section(stability, words),
        stability_link="" if stability is None else '<a href="#stability">Stability</a>',
        scores=scores,
        results=results_section(results) if results else "",
        result_link='<a href="#results">Results</a>' if results else "",
        score_link='<a href="#scores">Scores</a>' if scores else "",
        tasks=task_section(model, words) if data["tasks"] else "",
        task_link='<a href="#tasks">Relations</a>' if data["tasks"] else "",
        version=escape(__version__),
    )
    with writing_file(path) as file:
        file.write(page.encode("utf-8"))
    return Path(path)


def fill(data: dict[str, Any], **parts: str) -> str:
    """Return the page: the template with its parts, its data and its script.

    The Content Security Policy allows the script by its checksum and nothing else. So no word
    can run as a script, whatever it contains, and nothing can be fetched or sent.
    """
    own = join_modules("page.js", asset)
    return Template(asset("page.html")).substitute(
        parts,
        policy=f"'sha256-{_checksum(own)}'",
        style=asset("components/base.css") + asset("style.css"),
        script=own,
        data=_json(data),
    )


def _json(data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Only "<" can end the text of a script element, and JSON can escape it.
    return text.replace("<", "\\u003c")


def _checksum(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
