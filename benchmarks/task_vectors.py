"""Task vectors of every category of an analogy file, in 20 dimensions up to the model's own.

    python benchmarks/task_vectors.py MODEL google-analogies.txt

MODEL is a saved model, best of a large dimension. The file is one that `read_tasks` reads. For each
category with at least 3 pairs in the vocabulary it prints

- the largest SNR and the largest analogy accuracy, each with its dimension;
- signal in mean, in the dimension of the largest SNR and the largest over all dimensions;
- d_eff and goodness of the Marchenko–Pastur fit in the dimension of the largest SNR, and the ratio
  of the spike to the edge of the noise;
- the concept test: p-values of a shared direction and of the pairing, the dimension where the
  direction is clearest, the participation ratio of the mean task vector in it, the verdict, and the
  pair that fits worst.

Over the categories with at least 10 pairs it prints how often signal in mean is above 0.9, and the
rank correlation between best SNR and best accuracy. Last are the seconds of analysis and test.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from qwem import Model
from qwem.interpretation import analyze_task, concept_test, read_tasks

if TYPE_CHECKING:
    from qwem.interpretation.analysis import TaskAnalysis

FEWEST = 10


def report(options: argparse.Namespace) -> None:
    embedding = Model.load(options.model).spectrum.embedding()
    tasks = read_tasks(options.tasks)
    known = [task.restrict(embedding) for task in tasks]
    asked = [task for task in known if len(task) >= 3]
    began = time.perf_counter()
    analyses = [analyze_task(embedding, task) for task in asked]
    analyzed = time.perf_counter() - began
    began = time.perf_counter()
    tests = [concept_test(embedding, task, draws=options.draws) for task in asked]
    tested = time.perf_counter() - began

    print(
        f"{embedding!r}: {len(tasks)} tasks, of which {len(asked)} have 3 pairs or more; "
        f"dimensions {' '.join(map(str, analyses[0].dims))}\n"
    )
    print(
        f"{'task':28}│ pairs │ best SNR   │ best accuracy │ signal in mean │ d_eff │ fit  │ "
        "spike/edge │ features │ p      │ pairing │ clearest │ verdict     │ fits worst"
    )
    for found, test in zip(analyses, tests, strict=True):
        at, right = int(np.argmax(found.snr)), int(np.argmax(found.accuracy))
        fit, worst = found.fits[at], test.pairs[0]
        spread = found.participation_ratios[found.dims.index(test.best_dim)]
        print(
            f"{found.task.name:28}│ {len(found.task):5} │ "
            f"{found.snr[at]:4.1f} at {found.dims[at]:<3}│ "
            f"{found.accuracy[right]:6.1%} at {found.dims[right]:<4}│ "
            f"{found.signal_in_mean[at]:.3f} {found.signal_in_mean.max():7.3f}  │ "
            f"{fit.effective_dim:5.1f} │ {fit.goodness:.2f} │ "
            f"{fit.spike / fit.edge:10.1f} │ {spread:8.1f} │ "
            f"{test.p_value:.4f} │ {test.pairing_p_value:.4f}  │ {test.best_dim:8} │ "
            f"{test.verdict:11} │ {worst.source} {worst.target} {worst.cosine:.2f}"
        )
    summarize([found for found in analyses if len(found.task) >= FEWEST])
    print(f"analysis {analyzed:.1f} s, concept tests {tested:.1f} s")


def summarize(analyses: list[TaskAnalysis]) -> None:
    snr = [float(found.snr.max()) for found in analyses]
    accuracy = [float(found.accuracy.max()) for found in analyses]
    signals = [found.signal_in_mean for found in analyses]
    high = sum(bool(signal.max() > 0.9) for signal in signals)
    everywhere = sum(bool(signal.min() > 0.9) for signal in signals)
    print(
        f"\nof the {len(analyses)} tasks with {FEWEST} pairs or more: signal in mean above 0.9 in "
        f"some dimension for {high}, in all dimensions for {everywhere}"
    )
    print(f"Spearman's ρ of best SNR and best accuracy: {spearmanr(snr, accuracy).statistic:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("tasks")
    parser.add_argument("--draws", type=int, default=999, help="of chance, for the concept test")
    report(parser.parse_args())
