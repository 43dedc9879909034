"""Task vectors for the page: the spectrum of each task, and its signal at each dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import CoverageError
from qwem.evaluation.benchmarks import BENCHMARKS, available_benchmark
from qwem.interpretation import read_tasks
from qwem.interpretation.analysis import analyze_tasks

if TYPE_CHECKING:
    import os

    from qwem.embedding import Embedding
    from qwem.interpretation import TaskAnalysis

_CURVE_POINTS = 160
_EXAMPLES = 4


def tasks_data(embedding: Embedding, name: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what the page shows of each task.

    Tasks that were given by the name of a benchmark may be absent or about other words; then there
    is nothing to show.
    """
    file = available_benchmark(name)
    if file is None:
        return []
    try:
        return [_task_data(found) for found in analyze_tasks(embedding, read_tasks(file))]
    except CoverageError:
        if str(name) in BENCHMARKS:
            return []
        raise


def _task_data(analysis: TaskAnalysis) -> dict[str, Any]:
    fit = analysis.fits[-1]
    plain = analysis.to_dict()  # undefined numbers are null there, as JSON needs
    low, high = fit.distribution.support
    # The density is steep at its edges, where cosine spacing puts more points.
    places = (low + high - (high - low) * np.cos(np.linspace(0, np.pi, _CURVE_POINTS))) / 2
    strongest = np.argsort(-analysis.localization, kind="stable")[:3]
    return {
        "name": analysis.task.name,
        "pairs": len(analysis.task),
        "examples": [list(pair) for pair in analysis.task.pairs[:_EXAMPLES]],
        "dims": list(analysis.dims),
        "snr": plain["snr"],
        "accuracy": plain["accuracy"],
        "spike": fit.spike,
        "bulk": fit.bulk.tolist(),
        "edge": high,
        "effectiveDim": fit.effective_dim,
        "signalInMean": plain["signal_in_mean"][-1],
        "strongest": [[int(k) + 1, plain["localization"][k]] for k in strongest],
        "density": [places.tolist(), fit.distribution.density(places).tolist()],
    }
