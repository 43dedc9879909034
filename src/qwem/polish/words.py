"""Words against fixed contexts: the word vectors of other counts, comparable with a model's."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qwem._internal.checks import require_whole
from qwem._internal.resources import blas_threads
from qwem.errors import SettingError
from qwem.polish.loss import Word2vecLoss
from qwem.polish.sweep import StepsHere, improve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Matrix: TypeAlias = NDArray[np.float32]


def solve_words(
    counts: Cooccurrence,
    context: Matrix,
    start: Matrix | None = None,
    *,
    negatives: float = 5.0,
    exponent: float = 0.75,
    evidence: float = 100.0,
    coupling: NDArray[np.float64] | None = None,
    steps: int = 30,
    tol: float = 1e-3,
    threads: int | None = None,
) -> Matrix:
    """Return the word vectors that minimize word2vec's loss on `counts`, all contexts being fixed.

    Given the contexts each word is a convex problem of its own. All words take a step at a time,
    until a step lowers the loss by less than `tol` of its fall below that of independent words.

    Parameters
    ----------
    counts
        How often words meet.
    context
        W′, one row for each word.
    start
        Where to start; by default at zero.
    negatives, exponent, evidence
        As in `polish`.
    coupling
        The weight of each word; 1 by default.
    steps
        How many at most.
    tol
        See above.
    threads
        How many to use; all cores by default. The result has the same bits whatever their number.

    >>> import qwem
    >>> counts = qwem.Cooccurrence.from_matrix("abc", [[4, 2, 1], [2, 0, 3], [1, 3, 2]])
    >>> solve_words(counts, np.eye(3, 2, dtype=np.float32)).shape
    (3, 2)
    """
    require_whole("steps", steps, least=1)
    words = np.zeros_like(context) if start is None else start
    if len(context) != len(counts.vocabulary) or words.shape != context.shape:
        raise SettingError(
            f"{len(counts.vocabulary):,} words need as many rows on both sides, not {words.shape} "
            f"and {context.shape}."
        )
    loss = Word2vecLoss(
        counts, negatives=negatives, exponent=exponent, evidence=evidence, coupling=coupling
    )
    step, before = StepsHere(counts.pair_counts.tocsr(), threads), np.inf
    with blas_threads(1):
        for _ in range(steps):
            words, value, _ = improve(
                loss.of_words(), step, words, context, threads, lambda pairs: None
            )
            if before - value <= tol * -value:
                break
            before = value
    return words
