"""What the explorer says about models as wholes: their spaces, features, and training runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.explorer.models import Explored
    from qwem.explorer.spaces import Space

SEARCHED_WORDS = 4000
"""Of how many words, the most frequent ones, the ends of a feature are."""

_TRACED_VALUES = 40

Json = dict[str, Any]


def describe_models(models: Sequence[Explored]) -> Json:
    """Return what there is to explore."""
    return {
        "models": [describe(number, model) for number, model in enumerate(models)],
        "compare": len(models) > 1,
    }


def describe(number: int, model: Explored) -> Json:
    """Return what is known about a model before any question is asked."""
    return {
        "id": number,
        "name": model.name,
        "words": len(model.vocabulary),
        "kind": model.kind,
        "chosen": model.chosen,
        "facts": [list(fact) for fact in model.facts],
        "story": list(model.story),
        "settings": {name: _plain_setting(value) for name, value in model.settings.items()},
        "spaces": [describe_space(space) for space in model.spaces.values()],
        "names": {
            space: {str(rank): name for rank, name in named.items()}
            for space, named in model.names.items()
        },
        "can_name": model.can_name,
        "collocates": model.counts is not None,
        "trace": model.trace is not None,
        "replicates": 0 if model.stability is None else len(model.stability.replicates),
    }


def describe_space(space: Space) -> Json:
    """Return the numbers of a space from which vectors are computed."""
    run = space.run
    return {
        "space": space.name,
        "title": space.title,
        "dim": space.dim,
        "time": run is not None,
        "signed": space.signed,
        "eigenvalues": space.eigenvalues.tolist(),
        "weights": space.weights.tolist(),
        "start": None if run is None else run.initial_singular_values.tolist(),
        "rates": None if run is None else run.rates.tolist(),
        "learning_times": None
        if run is None
        else plain(np.asarray(run.rescaled_time(run.learning_times))),
        "unit": space.unit,
    }


def describe_features(model: Explored, space: Space, first: int, count: int, topn: int) -> Json:
    """Return some features of a space, with the words at the two ends of each.

    The words are the nearest to the feature's axis among the most frequent, as in
    `qwem.interpretation.features`.
    """
    if first > space.dim:
        raise SettingError(f"There are features 1 to {space.dim}, and no feature {first}.")
    ranks = np.arange(first, min(first + count, space.dim + 1))
    places = ranks - 1
    searched = space.vectors(slice(SEARCHED_WORDS), space.dials())
    lengths = np.linalg.norm(searched, axis=1)
    cosines = np.divide(
        searched[:, places],
        lengths[:, None],
        out=np.zeros((len(searched), len(places))),
        where=lengths[:, None] > 0,
    )
    shares = np.abs(space.eigenvalues) / np.abs(space.eigenvalues).sum()
    fourth_powers = np.einsum("ik->k", space.rows[:, places].astype(np.float64) ** 4)
    run = space.run
    times = None if run is None else run.rescaled_time(run.learning_times)
    named = model.names.get(space.name, {})
    words = space.vocabulary.words

    def end(column: NDArray[np.float64]) -> list[Json]:
        best = np.argsort(-column, kind="stable")[:topn]
        return [
            {"word": words[index], "index": index, "cosine": float(column[index])}
            for index in best.tolist()
            if column[index] > 0
        ]

    found = [
        {
            "rank": rank,
            "eigenvalue": float(space.eigenvalues[rank - 1]),
            "share": float(shares[rank - 1]),
            "learning_time": None if times is None else plain(times[rank - 1 : rank])[0],
            "participation": float(1 / fourth_powers[place]) if fourth_powers[place] > 0 else None,
            "positive": end(cosines[:, place]),
            "negative": end(-cosines[:, place]),
            "name": named.get(rank, ""),
        }
        for place, rank in enumerate(ranks.tolist())
    ]
    return {"space": space.name, "dim": space.dim, "features": found}


def describe_trace(model: Explored) -> Json:
    """Return the curves of the training run that was given beside a model."""
    trace = model.trace
    if trace is None:
        raise DataError(f"No training run was given beside {model.name}; pass one with --trace.")
    unit = model.spaces["closed"].unit
    assert unit is not None
    known = bool(np.isfinite(trace.times).all())
    accuracy = plain(trace.accuracy)
    return {
        "name": model.trace_name,
        "steps": trace.steps.tolist(),
        "times": (trace.times / unit).tolist() if known else None,
        "losses": plain(trace.losses),
        "accuracy": None if all(value is None for value in accuracy) else accuracy,
        "singular_values": [plain(row[:_TRACED_VALUES]) for row in trace.singular_values],
    }


def plain(values: NDArray[Any]) -> list[float | None]:
    """Return numbers for JSON, None in place of those that are not finite.

    >>> plain(np.array([1.0, np.inf]))
    [1.0, None]
    """
    return [float(value) if np.isfinite(value) else None for value in values]


def _plain_setting(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else str(value)
