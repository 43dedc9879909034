"""The models that the figures compare, each made of shared stages."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from qwem.errors import DataError
from qwem.evaluation import benchmark_file, evaluate
from qwem.interpretation import analyze_task, read_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from qwem.embedding import Embedding
    from qwem.evaluation import Evaluation
    from qwem.interpretation import TaskAnalysis
    from qwem.recipes.paper.stages import Stages, TargetName

MODELS = ("word2vec", "QWEM", "svd(M*)", "svd(PPMI)", "svd(PMI)")
"""The columns of the paper's table of benchmarks."""


class Experiment:
    """The stages of a run with the benchmark files, and what several figures need of both."""

    def __init__(
        self, stages: Stages, analogies: str = "google", similarity: Sequence[str] | None = None
    ) -> None:
        self.stages = stages
        self.scale = stages.scale
        self.analogies = benchmark_file(analogies)
        self.missing: list[str] = []
        """Why a benchmark of the paper is left out, where nobody asked for it by name."""
        self.similarity: list[Path] = []
        for name in ("men", "wordsim353") if similarity is None else similarity:
            try:
                self.similarity.append(benchmark_file(name))
            except DataError as error:
                if similarity is not None:
                    raise
                self.missing.append(str(error))

    @cache  # noqa: B019 – a run has one of these
    def embedding(self, model: str) -> Embedding:
        """Return one of `MODELS`, all of the same words and dimension."""
        if model in ("word2vec", "QWEM"):
            return self.stages.trace(f"{model.lower()}-benchmarks").embedding()
        size = self.scale.benchmarks
        targets: dict[str, TargetName] = {
            "svd(M*)": "mstar",
            "svd(PPMI)": "ppmi",
            "svd(PMI)": "pmi",
        }
        return self.stages.spectrum(size, targets[model], tol=1e-3).embedding()

    @cached_property
    def scores(self) -> dict[str, Evaluation]:
        """What each of the models scores on the benchmarks."""
        return {
            model: evaluate(self.embedding(model), self.analogies, self.similarity)
            for model in MODELS
        }

    @cached_property
    def analyses(self) -> list[TaskAnalysis]:
        """The geometry of the task vectors of every category with enough known pairs, over d."""
        spectrum = self.stages.spectrum(self.scale.tasks, tol=1e-3)
        embedding = spectrum.embedding()
        tasks = [task.restrict(embedding) for task in read_tasks(self.analogies)]
        known = [task for task in tasks if len(task) >= FEWEST_PAIRS]
        if not known:
            raise DataError(
                f"No category of {self.analogies} has {FEWEST_PAIRS} pairs among the "
                f"{len(embedding):,} words; use a larger text or other questions."
            )
        return [analyze_task(embedding, task, dims=self.dims) for task in known]

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Powers of two from 4 up to the largest dimension."""
        largest = self.scale.tasks.dim
        return tuple(2**k for k in range(2, largest.bit_length()) if 2**k <= largest)


FEWEST_PAIRS = 6
"""Below this many pairs a spectrum has no bulk to speak of."""
