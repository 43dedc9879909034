"""Analyses on the pages: relations, shapes, the comparison of two models, and stability."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks, unit_rows
from qwem.embedding import Embedding
from qwem.errors import CoverageError, QwemError, SettingError
from qwem.evaluation.benchmarks import available_benchmark
from qwem.interpretation import Task, analyze_task, concept_test, geometry, overlaps, read_tasks
from qwem.interpretation.shapes import built_in_shapes
from qwem.interpretation.tasks import dimension_grid

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.comparison import Stability
    from qwem.interpretation.analysis import TaskAnalysis
    from qwem.interpretation.concept import ConceptTest
    from qwem.model import Model
    from qwem.pages.spaces import Space

Json = dict[str, Any]

SEARCHED_WORDS = 10_000
"""The number of most frequent words used to test a concept; more if its own words are rarer."""

PAIRS_WITH_A_BULK = 6
"""With fewer pairs there are too few eigenvalues to see a bulk beside the spike."""

COMPARED_WORDS = 20_000
"""The number of shared words, the most frequent ones, over which features are compared."""

ASKED_WORDS, SHOWN_WORDS, NEIGHBOURS = 60, 6, 5
"""How many words are looked up, how many of them are shown, and with how many neighbours."""

_DIMENSIONS, _CURVE_POINTS = 12, 160
_SHOWN, _PAIRS = 8, 40
_PERMUTATIONS = 99
_BLOCK_NUMBERS = 1 << 20
_TOP, _FIRST_RANK = 10, 100

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
"""Pairs that are tested if no others are given."""


def concept(space: Space, name: str, pairs: Sequence[tuple[str, str]], draws: int) -> Json:
    """Return whether a space represents a relation as one direction, and its task vectors."""
    task = Task(name, tuple(pairs))
    known = [space.vocabulary.get(word) for pair in task.pairs for word in pair]
    rarest = max((index for index in known if index is not None), default=0)
    embedding = space.embedding(max(SEARCHED_WORDS, rarest + 1))
    dims = dimension_grid(space.dim, _DIMENSIONS)
    test = concept_test(embedding, task, dims, draws=draws)
    analysis = None
    if len(test.task) >= PAIRS_WITH_A_BULK:
        analysis = _analysis(analyze_task(embedding, task, dims))
    return {
        "name": name,
        "pairs": [list(pair) for pair in test.task.pairs],
        "dropped": [list(pair) for pair in test.task.dropped],
        "test": _test(test),
        "analysis": analysis,
    }


def relations(space: Space, source: str | os.PathLike[str] | None, draws: int = 499) -> list[Json]:
    """Return tests of relations: those of a file, of a benchmark, or common ones.

    Relations with too few known words are left out.
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
            name = re.sub(r"^gram\d+-", "", task.name).replace("-", " ")
            found.append(concept(space, name, known, draws))
    return found


def _test(test: ConceptTest) -> Json:
    """Return the numbers of a test that the page shows."""
    numbers = test.to_dict()
    names = ("verdict", "p_value", "pairing_p_value", "best_dim", "dims", "features", "pairs")
    return {
        **{name: numbers[name] for name in names},
        "share": test.share,
        "expected_share": test.expected_share,
    }


def _analysis(analysis: TaskAnalysis) -> Json:
    """Return the curves over d, and the spectrum of the largest d with the law of its bulk."""
    fit = analysis.fits[-1]
    low, high = fit.support
    # The density is steep at its edges, where cosine spacing puts more points.
    places = (low + high - (high - low) * np.cos(np.linspace(0, np.pi, _CURVE_POINTS))) / 2
    return {
        "dims": analysis.dims,
        "snr": analysis.snr,
        "accuracy": analysis.accuracy,
        "spike": fit.spike,
        "bulk": fit.bulk,
        "edge": high,
        "signal_in_mean": analysis.signal_in_mean[-1],
        "density": [places, fit.density(places)],
    }


def shapes(source: Model | Embedding) -> list[Json]:
    """Return where words with positions, such as months, lie, and where theory predicts them.

    Lists with too few known words are left out.
    """
    found = []
    for shape in built_in_shapes().values():
        try:
            tested = geometry(source, shape, permutations=_PERMUTATIONS)
        except QwemError:
            continue
        places = [tested.modes, tested.found]
        order = np.arange(len(tested.shape.words))
        if shape.kind in ("cycle", "line"):
            order = np.argsort(tested.shape.positions[:, 0], kind="stable")
        if tested.modes.shape[1] == 1:  # a line, against the order of its words
            ranks = np.argsort(order)
            places = [np.column_stack([ranks, each[:, 0]]) for each in places]
        predicted, actual = (each[order, :2] for each in places)
        found.append(
            {
                "name": shape.name,
                "kind": shape.kind,
                "words": [tested.shape.words[index] for index in order.tolist()],
                "missing": tested.missing,
                "numbers": tested.rows(),
                "disparity": tested.disparity,
                "predicted": predicted,
                "found": actual,
            }
        )
    return found


def matched_features(a: Space, b: Space, dim: int) -> Json:
    """Return which features of two models match, over the most frequent words of both."""
    shared = _shared(a, b)
    ours, theirs = shared[:, :COMPARED_WORDS]
    words = [a.vocabulary.words[index] for index in ours.tolist()]
    one, other = (
        Embedding(words, space.vectors(indices)) for space, indices in ((a, ours), (b, theirs))
    )
    found = overlaps(one, other, dim=min(dim, a.dim, b.dim, len(words)))
    return {
        **found.to_dict(),
        "shared_words": shared.shape[1],
        "squared": found.squared.tolist(),
    }


def distances(a: Space, b: Space) -> NDArray[np.float32]:
    """Return 1 − cosine between the vectors of each word of `a` in the two models.

    The second model is rotated as close to the first as possible, over all shared words at unit
    length (Procrustes). Words that `b` does not have are NaN.
    """
    from scipy.linalg import svd

    ours, theirs = _shared(a, b)
    cross = np.zeros((a.dim, b.dim))
    parts = blocks(len(ours), max(a.dim, b.dim), most=_BLOCK_NUMBERS)
    for part in parts:
        cross += _units(a, ours[part]).T @ _units(b, theirs[part])
    left, _, right = svd(cross, full_matrices=False)
    found = np.full(len(a.vocabulary), np.nan, dtype=np.float32)
    for part in parts:
        one, other = _units(a, ours[part]) @ left, _units(b, theirs[part]) @ right.T
        found[ours[part]] = 1 - np.einsum("ij,ij->i", one, other)
    return found


def _shared(a: Space, b: Space) -> NDArray[np.int64]:
    """Return the indices of the shared words in both models, in the order of the first."""
    pairs = [
        (index, other)
        for index, word in enumerate(a.vocabulary.words)
        if (other := b.vocabulary.get(word)) is not None
    ]
    if not pairs:
        raise SettingError("These two models share no words, so they can't be compared.")
    return np.array(pairs, dtype=np.int64).T


def _units(space: Space, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    return unit_rows(space.vectors(indices))


def stability_data(stability: Stability, words: int) -> Json:
    """Return a summary of stability, with examples, for the `words` most frequent words."""
    known = stability.embedding.index_to_key[:words]
    # From frequent to rare in equal steps of the logarithm of the rank, after function words.
    first = max(1, min(_FIRST_RANK, len(known) // 4))
    ranks = np.geomspace(first, len(known), min(ASKED_WORDS, len(known)))
    asked = [known[rank] for rank in np.unique(ranks.astype(int) - 1)]
    top = min(_TOP, len(known) - 1)
    found = {word: stability.neighbours(word, top) for word in asked}
    count = len(stability.replicates)
    kept = np.mean(np.concatenate([each.kept for each in found.values()])) / count
    error = np.median(np.concatenate([each.errors for each in found.values()]))
    again = (
        f"once without each of {count} equal parts of the documents"
        if stability.method == "jackknife"
        else f"{count} times with other weights of the documents"
    )
    shown = np.linspace(0, len(asked) - 1, min(SHOWN_WORDS, len(asked))).astype(int)
    return {
        "summary": f"The model was fitted again, {again}. Of the {top} nearest words of a word, "
        f"{kept:.0%} remain among the {top} nearest on average; their similarities have a standard "
        f"error of {error:.3f} (median over {len(asked)} words from frequent to rare). The table "
        f"shows some of these words with their nearest words: the similarity ± standard error, "
        f"and in how many of the {count} fits the two are among the {top} nearest.",
        "rows": [
            [
                asked[place],
                *(
                    f"{each['word']} {each['similarity']:.2f} ± {each['error']:.2f}, {kept}/{count}"
                    for each, kept in zip(near.rows()[:NEIGHBOURS], near.kept, strict=False)
                ),
            ]
            for place in shown
            for near in [found[asked[place]]]
        ],
    }
