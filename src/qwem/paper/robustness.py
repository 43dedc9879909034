"""Robustness: the choices of protocol that the paper found not to matter, each beside another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.evaluation import evaluate_analogies, evaluate_similarity
from qwem.interpretation import read_tasks
from qwem.interpretation.analysis import analyze_tasks
from qwem.paper.recipe import Outcome, recipe

if TYPE_CHECKING:
    from qwem.interpretation import TaskAnalysis
    from qwem.paper.experiment import Experiment

_HEADER = ("choice", "measure", "as in the paper", "otherwise")
Row = tuple[str, str, float, float]


@recipe(
    "Appendix. Robustness of the protocol",
    "Normalizing only the candidate word gives nearly identical accuracy; normalizing word "
    "embeddings or task vectors does not change the results qualitatively; with enough text it "
    "does not matter whether words outside the vocabulary are removed or masked.",
)
def table_robustness(experiment: Experiment) -> Outcome:
    """Measure svd(M*) under each choice of the paper and under the other one."""
    rows = [
        *_candidate_only(experiment),
        *_masked_words(experiment),
        *_cosines(experiment),
        *_normalized_task_vectors(experiment),
    ]
    largest = max(rows, key=lambda row: abs(row[3] - row[2]))
    finding = (
        f"Over {len(rows)} measurements the largest change is from {largest[2]:.3f} to "
        f"{largest[3]:.3f} ({largest[0]}, {largest[1]}); the mean change is "
        f"{np.mean([abs(row[3] - row[2]) for row in rows]):.3f}."
    )
    numbers = {f"{what}: {measure}": [ours, other] for what, measure, ours, other in rows}
    table = (_HEADER, *((what, measure, f"{ours:.3f}", f"{other:.3f}")
                        for what, measure, ours, other in rows))  # fmt: skip
    size = experiment.scale.benchmarks
    settings: dict[str, Any] = {
        "model": "svd(M*)", "V": size.vocab_size, "d": size.dim,
        "task vectors": f"V = {experiment.scale.tasks.vocab_size:,}, "
        f"d up to {experiment.dims[-1]:,}",
    }  # fmt: skip
    return Outcome(None, (finding,), numbers, settings, table)


def _candidate_only(experiment: Experiment) -> list[Row]:
    embedding = experiment.embedding("svd(M*)")
    ours, other = (
        evaluate_analogies(embedding, experiment.analogies, method=method, pairs="all").accuracy
        for method in ("cosine", "candidate")
    )
    return [("normalize only the candidate", "Google analogies", ours, other)]


def _masked_words(experiment: Experiment) -> list[Row]:
    """Compare words outside the vocabulary removed, and kept as gaps."""
    size = experiment.scale.benchmarks
    removed = experiment.embedding("svd(M*)")
    masked = experiment.spectrum(size, oov="mask", tol=1e-3).embedding()
    what = "mask words outside the vocabulary"
    rows: list[Row] = []
    ours, other = (
        evaluate_analogies(embedding, experiment.analogies, pairs="all").accuracy
        for embedding in (removed, masked)
    )
    rows.append((what, "Google analogies", ours, other))
    for file in experiment.similarity:
        first, second = (
            evaluate_similarity(embedding, file, measure="inner").spearman
            for embedding in (removed, masked)
        )
        rows.append((what, file.stem, first, second))
    return rows


def _cosines(experiment: Experiment) -> list[Row]:
    embedding = experiment.embedding("svd(M*)")
    rows: list[Row] = []
    for file in experiment.similarity:
        inner, cosine = (
            evaluate_similarity(embedding, file, measure=measure).spearman
            for measure in ("inner", "cosine")
        )
        rows.append(("cosines instead of inner products", file.stem, inner, cosine))
    return rows


def _normalized_task_vectors(experiment: Experiment) -> list[Row]:
    embedding = experiment.spectrum(experiment.scale.tasks, tol=1e-3).embedding()
    tasks = read_tasks(experiment.analogies)
    plain = _task_measures(experiment.analyses)
    rows: list[Row] = []
    for normalize in ("words", "differences"):
        changed = _task_measures(
            analyze_tasks(embedding, tasks, experiment.dims, normalize=normalize)
        )
        name = "word vectors" if normalize == "words" else "task vectors"
        rows += [(f"normalize {name}", measure, plain[measure], changed[measure])
                 for measure in plain]  # fmt: skip
    return rows


def _task_measures(analyses: list[TaskAnalysis]) -> dict[str, float]:
    """Return what Figure 4 is about, each as one number over all categories."""
    middle = len(analyses[0].dims) // 2
    outside = [fit.spike > fit.distribution.support[1] for a in analyses for fit in a.fits]
    peaks = [a.snr[-1] < 0.9 * a.snr.max() for a in analyses]
    return {
        "spectra with a spike outside the bulk": float(np.mean(outside)),
        "categories whose SNR falls again": float(np.mean(peaks)),
        f"signal in mean at d = {analyses[0].dims[middle]}": float(
            np.mean([a.signal_in_mean[middle] for a in analyses])
        ),
    }
