"""Polishing: a deterministic word2vec, from the closed form on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from qwem._internal.checks import require_whole
from qwem._internal.progress import progress
from qwem._internal.resources import blas_threads, require_memory
from qwem.embedding import Embedding
from qwem.errors import CountError, SettingError
from qwem.polish.balance import balanced
from qwem.polish.loss import Word2vecLoss
from qwem.polish.sweep import StepsHere, improve
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.polish.sweep import Steps

    Vector: TypeAlias = NDArray[np.float64]


class HasSpectrum(Protocol):
    """Anything with a spectrum, such as `qwem.Model`."""

    @property
    def spectrum(self) -> Spectrum:
        """The closed form."""


@dataclass(frozen=True, eq=False)
class Polished:
    """Word and context vectors after some sweeps of word2vec's loss, and how these went.

    The logit of word i and context j is w_i·w′_j + b_j. The loss sees only logits; of all vectors
    with the same logits these are balanced, and the word vectors have mean zero (see
    `qwem.polish.balance`).
    """

    embedding: Embedding
    """W, the word vectors."""
    context: Embedding
    """W′, the context vectors."""
    bias: Vector = field(repr=False)
    """b, one number for each context."""
    centre: NDArray[np.float32] = field(repr=False)
    """The mean word vector, which was taken out of W; its products with W′ are in the bias."""
    losses: Vector = field(repr=False)
    """The loss before each half of a sweep, words and contexts in turn; 0 for independent words."""
    converged: bool
    """Whether the last sweep lowered the loss by less than tol of its fall below independence."""
    settings: dict[str, Any]

    @property
    def sweeps(self) -> float:
        """How many sweeps were done, halves included."""
        return len(self.losses) / 2


def polish(
    source: Spectrum | HasSpectrum,
    counts: Cooccurrence,
    *,
    sweeps: int = 12,
    negatives: float = 5.0,
    exponent: float = 0.75,
    evidence: float = 100.0,
    tol: float = 0.01,
    start: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
    threads: int | None = None,
    callback: Callable[[Polished], object] | None = None,
    steps: Steps | None = None,
) -> Polished:
    """Minimize word2vec's loss (paper, eq. w2v_loss) on the statistics of `counts`.

    This is what word2vec's sampling minimizes on average; `qwem.polish.loss.Word2vecLoss` has the
    formula. Given the contexts, each word is a small convex problem of its own, and given the words
    each context is. A sweep takes one step for every word and then one for every context. A step
    never raises the loss. Only pairs that were seen are visited, so that a sweep takes time in
    proportion to their number.

    The coupling of the spectrum, if it has one, weights pairs of words here too.

    Parameters
    ----------
    source
        The closed form to start from: a `Spectrum`, or a model that has one. A signed spectrum is
        the better start: W = V|Λ|^½ and W′ = V sign(Λ)|Λ|^½.
    counts
        The statistics, of the same words in the same order.
    sweeps
        How many at most.
    negatives, exponent
        word2vec's k, and the power of the word counts by which negatives are drawn.
    evidence
        How many tokens of text each word is taken to have been seen in beside those it was, with
        neighbours independent of it. Words that are rarer than that stay near zero.
    tol
        Stop when a sweep lowers the loss by less than this part of its fall below that of
        independent words.
    start
        Word and context vectors to start from instead of the closed form, such as those of an
        earlier result on similar counts, ``embedding.vectors + centre`` and ``context.vectors``.
        Then the first half of a sweep, that for words, is enough if it lowers the loss by less than
        half of that part.
    threads
        How many to use; all cores by default. The result has the same bits whatever their number.
    callback
        Called with the result so far after every sweep.
    steps
        What takes the steps of rows, by default the threads of this process;
        `qwem.cluster.polish` has the workers of a cluster take them.

    >>> import qwem
    >>> counts = qwem.Cooccurrence.from_matrix("abc", [[4, 2, 1], [2, 0, 3], [1, 3, 2]])
    >>> polished = polish(qwem.fit(counts, dim=2, signed=True, polish=False), counts)
    >>> bool(polished.losses[-1] < polished.losses[0])
    True
    """
    spectrum = source if isinstance(source, Spectrum) else source.spectrum
    _check_settings(sweeps, negatives, exponent, evidence, tol)
    _check_counts(spectrum, counts)
    if start is not None and any(side.shape != spectrum.eigenvectors.shape for side in start):
        raise SettingError(
            f"start must be two matrices of the shape {spectrum.eigenvectors.shape}, as the model "
            f"has, not {start[0].shape} and {start[1].shape}."
        )
    settings = {
        "negatives": negatives,
        "exponent": exponent,
        "evidence": evidence,
        "tol": tol,
        "counts": list(counts.sources),
    }
    loss = Word2vecLoss(
        counts,
        negatives=negatives,
        exponent=exponent,
        evidence=evidence,
        coupling=None if spectrum.row_scale is None else spectrum.row_scale**-2.0,
    )
    if steps is None:
        steps = StepsHere(counts.pair_counts.tocsr(), threads)
    is_warm = start is not None
    if start is None:
        start = spectrum.embedding().vectors, spectrum.context_embedding().vectors
    word, context = start
    losses: list[float] = []
    converged = False

    def result() -> Polished:
        weights = counts.word_counts / (counts.word_counts + evidence)
        sides = balanced(word, context, loss.bias, weights, threads)
        provenance = {"target": dict(spectrum.target_settings), "polish": settings}
        return Polished(
            Embedding(counts.vocabulary, sides.word, provenance={"role": "word", **provenance}),
            Embedding(
                counts.vocabulary, sides.context, provenance={"role": "context", **provenance}
            ),
            sides.bias,
            sides.centre,
            np.array(losses),
            converged,
            settings,
        )

    # Products of matrices are cut into blocks here, each for one thread of BLAS: so their bits
    # don't depend on the threads.
    with blas_threads(1), progress("polish", 2 * sweeps * counts.pair_counts.nnz, "pair") as bar:
        while not converged and len(losses) < 2 * sweeps:
            word, before, fall = improve(loss.of_words(), steps, word, context, threads, bar.update)
            losses.append(before)
            # Twice the fall that is sure of the words' half stands for that of the whole sweep.
            converged = is_warm and len(losses) == 1 and 2 * fall < tol * -before
            if not converged:
                context, before, _ = improve(
                    loss.of_contexts(), steps, context, word, threads, bar.update
                )
                losses.append(before)
                # The loss after a sweep is known in the next, so two contexts' halves are compared.
                converged = len(losses) > 2 and losses[-3] - before <= tol * -before
            bar.set_postfix_str(f"loss {before:.4f}")
            if callback is not None:
                callback(result())
        return result()


def _check_settings(
    sweeps: int, negatives: float, exponent: float, evidence: float, tol: float
) -> None:
    require_whole("sweeps", sweeps, least=0)
    if not (math.isfinite(negatives) and negatives > 0):
        raise SettingError(f"negatives must be a positive number, not {negatives}.")
    if not math.isfinite(exponent):
        raise SettingError(f"exponent must be a finite number, not {exponent}.")
    if not (math.isfinite(evidence) and evidence >= 0):
        raise SettingError(f"evidence must be zero or a positive number, not {evidence}.")
    if not 0 <= tol < 1:
        raise SettingError(f"tol must be at least 0 and below 1, not {tol}.")


def _check_counts(spectrum: Spectrum, counts: Cooccurrence) -> None:
    if spectrum.vocabulary.words != counts.vocabulary.words:
        raise SettingError(
            f"The model has {len(spectrum.vocabulary):,} words and the counts have "
            f"{len(counts.vocabulary):,}, or others; polish needs the same words in the same order."
        )
    if counts.pair_counts.total == 0 or counts.word_counts.min() < 1:
        raise CountError("polish needs counts in which every word occurs; restrict the vocabulary.")
    size, dim = spectrum.eigenvectors.shape
    require_memory(4 * 8 * size * dim, "polish", "restrict the vocabulary")
