"""Concepts: whether a model represents a relation between words as one direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.results import as_plain
from qwem.errors import CoverageError
from qwem.evaluation.benchmarks import available_benchmark
from qwem.interpretation import Task, analyze_task, concept_test, read_tasks
from qwem.interpretation.tasks import dimension_grid

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from qwem.interpretation.analysis import TaskAnalysis
    from qwem.interpretation.concept import ConceptTest
    from qwem.pages.spaces import Space

Json = dict[str, Any]

SEARCHED_WORDS = 10_000
"""Among how many words a concept is tested, the most frequent, unless its own are rarer."""

PAIRS_WITH_A_BULK = 6
"""With fewer pairs there are too few eigenvalues to see a bulk beside the spike."""

MEANINGS = {
    "relation": "The pairs share a direction, and right partners fit it better than wrong ones.",
    "groups": "Two kinds of words differ by a shared direction, whichever is paired with which.",
    "association": "Partners are near each other, but the pairs share no direction.",
    "none": "The pairs have no more in common than random words of similar frequency.",
}

_DIMENSIONS = 12
_CURVE_POINTS = 160
_SHOWN, _PAIRS = 8, 40

RELATIONS = {
    "man → woman": "man woman king queen father mother son daughter brother sister husband wife "
    "boy girl he she uncle aunt actor actress",
    "country → capital": "france paris germany berlin italy rome spain madrid england london "
    "russia moscow japan tokyo egypt cairo greece athens poland warsaw",
    "one → many": "city cities year years book books river rivers king kings war wars language "
    "languages church churches state states town towns",
    "now → then": "is was has had make made become became write wrote take took give gave find "
    "found begin began come came",
}
"""Pairs that are tested where no others are given."""


def concept(space: Space, name: str, pairs: Sequence[tuple[str, str]], draws: int) -> Json:
    """Return whether a space represents a relation as one direction, and its task vectors."""
    task = Task(name, tuple(pairs))
    known = [space.vocabulary.get(word) for pair in task.pairs for word in pair]
    rarest = max((index for index in known if index is not None), default=0)
    embedding = space.embedding(max(SEARCHED_WORDS, rarest + 1), space.dials())
    dims = dimension_grid(space.dim, _DIMENSIONS)
    test = concept_test(embedding, task, dims, draws=draws)
    analysis = None
    if len(test.task) >= PAIRS_WITH_A_BULK:
        analysis = _analysis(analyze_task(embedding, task, dims))
    return {
        "name": name,
        "space": space.name,
        "words": len(embedding),
        "pairs": [list(pair) for pair in test.task.pairs],
        "dropped": [list(pair) for pair in test.task.dropped],
        "test": _test(test),
        "analysis": analysis,
    }


def relations(space: Space, source: str | os.PathLike[str] | None, draws: int = 499) -> list[Json]:
    """Return how well relations are known: those of a file, of a benchmark, or common ones.

    Relations of which too few words are known are left out.
    """
    file = None if source is None else available_benchmark(source)
    if file is not None:
        tasks = list(read_tasks(file))
    else:
        tasks = [
            Task(name, tuple(zip(words.split()[::2], words.split()[1::2], strict=True)))
            for name, words in RELATIONS.items()
        ]
    found: list[Json] = []
    for task in tasks:
        try:
            known = task.restrict(space.vocabulary).pairs[:_PAIRS]
        except CoverageError:
            continue
        if len(known) >= PAIRS_WITH_A_BULK and len(found) < _SHOWN:
            found.append(concept(space, task.name, known, draws))
    return found


def _test(test: ConceptTest) -> Json:
    numbers = test.to_dict()
    kept = (
        "verdict",
        "p_value",
        "pairing_p_value",
        "best_dim",
        "dims",
        "features",
        "pairs",
        "draws",
    )
    curves = {
        name: as_plain(getattr(test, name)) for name in ("share", "expected_share", "evidence")
    }
    return {
        **{name: numbers[name] for name in kept},
        **curves,
        "meaning": MEANINGS[test.verdict],
    }


def _analysis(analysis: TaskAnalysis) -> Json:
    """Return the curves over d, and the spectrum of the largest d with the law of its bulk."""
    fit = analysis.fits[-1]
    low, high = fit.distribution.support
    # The density is steep at its edges, where cosine spacing puts more points.
    places = (low + high - (high - low) * np.cos(np.linspace(0, np.pi, _CURVE_POINTS))) / 2
    strongest = np.argsort(-analysis.localization, kind="stable")[:5]
    shares = as_plain(analysis.localization)
    return {
        "dims": list(analysis.dims),
        "snr": as_plain(analysis.snr),
        "accuracy": as_plain(analysis.accuracy),
        "spike": as_plain(float(fit.spike)),
        "bulk": as_plain(fit.bulk),
        "edge": float(high),
        "effective_dim": as_plain(float(fit.effective_dim)),
        "signal_in_mean": as_plain(analysis.signal_in_mean)[-1],
        "strongest": [[int(k) + 1, shares[k]] for k in strongest],
        "density": [as_plain(places), as_plain(fit.distribution.density(places))],
        "gram_eigenvalues": as_plain(fit.eigenvalues),
    }
