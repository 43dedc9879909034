"""Concepts and axes of the user's own words, tested and measured in a space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.comparison import axis
from qwem.embedding import Embedding
from qwem.explorer.describing import plain
from qwem.interpretation import Task, analyze_task, concept_test
from qwem.interpretation.task_vectors import dimension_grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.explorer.spaces import Space
    from qwem.interpretation import ConceptTest, TaskAnalysis

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
_ENDS = 10


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


def axis_words(space: Space, body: Json) -> Json:
    """Return the words at the ends of an axis, and where the words asked for lie on it."""
    found = _axis(space, body)
    cosines = space.cosines(found.vector, space.dials())
    order = np.argsort(-cosines[:SEARCHED_WORDS], kind="stable")
    ends = np.concatenate([order[:_ENDS], order[max(_ENDS, len(order) - _ENDS) :]])
    asked = list(dict.fromkeys(body.get("words", [])))
    indices = [space.vocabulary.get(word) for word in asked]
    missing = [word for word, index in zip(asked, indices, strict=True) if index is None]
    placed = np.array([index for index in indices if index is not None], dtype=np.int64)
    placed = placed[np.argsort(-cosines[placed], kind="stable")]
    ordered = np.sort(cosines)
    return {
        "space": space.name,
        "positive": list(found.positive),
        "negative": list(found.negative),
        "missing": [*found.missing, *missing],
        "ends": _projections(space, ends, cosines, ordered),
        "words": _projections(space, placed, cosines, ordered),
    }


def axis_coordinates(space: Space, body: Json) -> NDArray[np.float32]:
    """Return the cosine of every word with an axis."""
    return space.cosines(_axis(space, body).vector, space.dials())


def _axis(space: Space, body: Json) -> Any:
    """Return the axis, made in an embedding that has only its own words."""
    positive, negative = body["positive"], body["negative"]
    words = [w for w in dict.fromkeys([*positive, *negative]) if w in space.vocabulary]
    if not words:  # any known word will do, for the error that names those that are missing
        words = [space.vocabulary.words[0]]
    vectors = space.vectors(space.vocabulary.indices(words), space.dials())
    return axis(Embedding(words, vectors), positive, negative, pairs=body.get("pairs", False))


def _projections(
    space: Space,
    indices: NDArray[np.int64],
    cosines: NDArray[np.float32],
    ordered: NDArray[np.float32],
) -> list[Json]:
    lower = np.searchsorted(ordered, cosines[indices]) / len(ordered)
    return [
        {
            "word": space.vocabulary.words[index],
            "index": index,
            "cosine": float(cosines[index]),
            "percentile": float(100 * lower[i]),
        }
        for i, index in enumerate(indices.tolist())
    ]


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
    curves = {name: plain(getattr(test, name)) for name in ("share", "expected_share", "evidence")}
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
    shares = plain(analysis.localization)
    return {
        "dims": list(analysis.dims),
        "snr": plain(analysis.snr),
        "accuracy": plain(analysis.accuracy),
        "spike": plain(np.array([fit.spike]))[0],
        "bulk": plain(fit.bulk),
        "edge": float(high),
        "effective_dim": plain(np.array([fit.effective_dim]))[0],
        "signal_in_mean": plain(analysis.signal_in_mean)[-1],
        "strongest": [[int(k) + 1, shares[k]] for k in strongest],
        "density": [plain(places), plain(fit.distribution.density(places))],
        "gram_eigenvalues": plain(fit.eigenvalues),
    }
