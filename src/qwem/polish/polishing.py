"""A few full-batch steps of word2vec's own loss from the closed form: a deterministic word2vec."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from qwem._internal.progress import progress
from qwem._internal.resources import require_memory
from qwem.embedding import Embedding
from qwem.errors import CountError, SettingError
from qwem.polish.loss import TILE_ENTRIES, TILE_ROWS, Evaluation, Word2vecLoss
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

DAMPING = 0.3
"""What is added to the diagonal of a d × d curvature matrix, as a part of its mean."""

FIRST_LENGTH = 0.5
"""Of a step, in parts of Newton's: both sides of w_i·w′_j move at once, and share it."""

ROUNDING = 1e-8
"""A change of the loss, as a part of it, that can't be told from rounding."""


class HasSpectrum(Protocol):
    """What `polish` starts from, if not from a `Spectrum` itself; `qwem.Model` has it."""

    @property
    def spectrum(self) -> Spectrum:
        """The closed form."""


@dataclass(frozen=True, eq=False)
class Polished:
    """Word and context vectors after some steps of word2vec's loss, and how these went.

    The loss only sees logits. Of all pairs of factors with the same product, these are the balanced
    one, with WᵀW = W′ᵀW′, as the closed form's are. Then, in the untied model, the mean word vector
    is taken out of W: its products with the contexts are the same for every word, so they tell how
    often a context is met, which is `bias`, and nothing of the word.
    """

    embedding: Embedding
    """W, the word vectors."""
    context: Embedding
    """W′, the context vectors; W itself where the weights are tied."""
    bias: Vector = field(repr=False)
    """b of the logits w_i·w′_j + b_j; zero where the weights are tied."""
    losses: Vector = field(repr=False)
    """The loss at the start and after each step."""
    evaluations: int
    """How often the loss and its gradient were computed; more than steps if some were refused."""
    converged: bool
    """Whether the last step lowered the loss by less than tol of its fall, or none could."""
    settings: dict[str, Any]

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self.losses) - 1


def polish(
    source: Spectrum | HasSpectrum,
    counts: Cooccurrence,
    *,
    steps: int = 15,
    negatives: float = 5.0,
    exponent: float = 0.75,
    subsample: float | None = None,
    shrinkage: float = 2.0,
    tied: bool = False,
    tol: float = 0.05,
    threads: int | None = None,
    callback: Callable[[Polished], object] | None = None,
) -> Polished:
    """Minimise word2vec's loss (paper, eq. w2v_loss) on the statistics of `counts`.

    This is what word2vec's sampling minimises on average: `Word2vecLoss` has the formula.

    A step is Newton's with the curvature of the pairs, (C + N) σ′, taken to be of rank one: the
    gradient of a row is divided by the row's curvature and by one d × d matrix common to all rows.
    It is taken if it lowers the loss enough, and the next is longer or shorter by how much it did.
    The coupling of the spectrum, where it has one, weighs the pairs of words here too.

    Parameters
    ----------
    source
        The closed form to start from: a `Spectrum`, or a model that has one.
    counts
        The statistics, of the same words in the same order.
    steps
        How many at most.
    negatives, exponent
        word2vec's k, and the power of the word counts by which negatives are drawn. Tied weights
        do better with k = 1: W Wᵀ can't be negative throughout, as more negatives would have it.
    subsample
        word2vec's threshold for frequent words, such as 1e-5, as weights on the counts. None where
        they were counted with subsampling.
    shrinkage
        Evidence of independence that is added to every pair, on the scale of the counts: what small
        corpora need, and large ones don't notice.
    tied
        Whether W′ = W. If not, a signed spectrum is the start to have: W = V|Λ|^½ and
        W′ = V sign(Λ)|Λ|^½, the last mode given up for a constant (see `start`).
    tol
        Stop when a step lowers the loss by less than this part of its whole fall. The last per
        cents serve large corpora (tol=0.01), and only overfit small ones.
    threads
        How many to use beside those of BLAS; all cores by default. The result has the same bits
        whatever their number.
    callback
        Called with the result so far at the start and after every step.

    >>> import qwem
    >>> counts = qwem.Cooccurrence.from_matrix("abc", [[4, 2, 1], [2, 0, 3], [1, 3, 2]])
    >>> polished = polish(qwem.fit(counts, dim=2, signed=True), counts)
    >>> bool(polished.losses[-1] < polished.losses[0])
    True
    """
    spectrum = source if isinstance(source, Spectrum) else source.spectrum
    _check_settings(steps, negatives, exponent, shrinkage, tol)
    _check_start(spectrum, counts, tied)
    settings = {
        "negatives": negatives,
        "exponent": exponent,
        "subsample": subsample,
        "shrinkage": shrinkage,
        "tied": tied,
        "tol": tol,
        "counts": list(counts.sources),
    }
    objective = Word2vecLoss(
        counts,
        negatives=negatives,
        exponent=exponent,
        subsample=subsample,
        shrinkage=shrinkage,
        coupling=None if spectrum.row_scale is None else spectrum.row_scale**-2.0,
        tied=tied,
        threads=threads,
    )
    sides = start(spectrum, objective)
    here = objective(sides)
    losses, evaluations, converged = [here.loss], 1, False

    def result() -> Polished:
        word = context = sides[0]
        bias = np.zeros(len(word))
        if not tied:
            word, context = balanced(*sides)
            mean = word.mean(axis=0, dtype=np.float64)
            word, bias = word - mean.astype(np.float32), context @ mean
        provenance = {"target": dict(spectrum.target_settings), "polish": settings}
        return Polished(
            Embedding(counts.vocabulary, word, provenance={"role": "word", **provenance}),
            Embedding(counts.vocabulary, context, provenance={"role": "context", **provenance}),
            bias,
            np.array(losses),
            evaluations,
            converged,
            settings,
        )

    length = FIRST_LENGTH
    if callback is not None:
        callback(result())
    with progress("polish", total=steps, unit="step") as bar:
        while not converged and len(losses) <= steps:
            step = descend(objective, sides, here, length)
            evaluations += step.evaluations
            converged = here.loss - step.here.loss <= tol * (losses[0] - step.here.loss)
            if step.here is here:
                break
            sides, here, length = step.sides, step.here, step.next_length
            losses.append(here.loss)
            bar.set_postfix_str(f"loss {here.loss:.5f}")
            bar.update()
            if callback is not None:
                callback(result())
    return result()


def start(spectrum: Spectrum, objective: Word2vecLoss) -> tuple[Matrix, ...]:
    """Return the closed form's W, or W and W′ with the last mode given up for the constant one.

    For independent words word2vec's loss does not want the logit 0 but log P_j/(k q_j), the same in
    every row. That is one mode, which a signed spectrum leaves out as its outlier. From nothing it
    would take many steps to grow, and it is known. Tied weights can't hold it.
    """
    word = spectrum.embedding().vectors
    if objective.tied:
        return (word,)
    word, context = word.copy(), spectrum.context_embedding().vectors.copy()
    scale = np.mean(objective.independent**2) ** 0.25
    word[:, -1] = scale
    context[:, -1] = objective.independent / scale
    return word, context


@dataclass(frozen=True, eq=False)
class Step:
    """Where a step has led, and how long the next should be."""

    sides: tuple[Matrix, ...]
    here: Evaluation
    next_length: float
    evaluations: int


def descend(
    objective: Word2vecLoss, sides: tuple[Matrix, ...], here: Evaluation, length: float
) -> Step:
    """Take a step that lowers the loss in proportion to its length, or none where there is none.

    The gain is the fall of the loss over what its slope promises. On a parabola it is 1 for a very
    short step and ½ at the minimum; lengths are steered to between ½ and ¾.
    """
    directions = newton_directions(sides, here)
    slope = here.slope(directions)
    evaluations = 0
    while length * slope > ROUNDING * here.loss:
        trial = tuple(
            side - np.float32(length) * direction
            for side, direction in zip(sides, directions, strict=True)
        )
        there = objective(trial)
        evaluations += 1
        gain = (here.loss - there.loss) / (length * slope)
        if gain >= 0.1:
            factor = 1.25 if gain > 0.75 else 2 / 3 if gain < 0.5 else 1.0
            return Step(trial, there, factor * length, evaluations)
        length /= 2
    return Step(sides, here, length, evaluations)


def newton_directions(sides: Sequence[Matrix], here: Evaluation) -> tuple[Matrix, ...]:
    """Return H⁻¹ times the gradient for each side, H being separable and damped.

    Row i of W has the Hessian Σ_j D_ij w′_j w′_jᵀ with D = (C + N) σ′. Where D_ij = h_i p_j, with
    h_i its row sum and p_j the share of column j, that is h_i times a matrix common to all rows.
    """
    directions = []
    for k, (gradient, curvature) in enumerate(zip(here.gradients, here.curvatures, strict=True)):
        other, share = sides[k - 1], here.curvatures[k - 1]  # the other side, or the only one
        weight = (share / share.sum()).astype(np.float32)
        common = (other.T @ (other * weight[:, None])).astype(np.float64)
        common += DAMPING * np.trace(common) / len(common) * np.eye(len(common))
        rows = np.maximum(curvature, np.finfo(np.float32).tiny)  # 0 has no gradient either
        scaled = gradient / rows.astype(np.float32)[:, None]
        directions.append(scaled @ np.linalg.inv(common).astype(np.float32))
    return tuple(directions)


def balanced(word: Matrix, context: Matrix) -> tuple[Matrix, Matrix]:
    """Return W A and W′ A⁻¹, whose product is W W′ᵀ, with A symmetric and both Gram matrices equal.

    A² is the geometric mean of (WᵀW)⁻¹ and W′ᵀW′. Unlike singular vectors it is smooth: there are
    no signs and no rotations within equal singular values to choose.
    """
    first, second = (
        side.T.astype(np.float64) @ side.astype(np.float64) for side in (word, context)
    )
    root = _power(first, 0.5)
    inverse = _power(first, -0.5)
    squared = inverse @ _power(root @ second @ root, 0.5) @ inverse
    return (
        word @ _power(squared, 0.5).astype(np.float32),
        context @ _power(squared, -0.5).astype(np.float32),
    )


def _power(matrix: Vector, exponent: float) -> Vector:
    """Return a power of a symmetric, positive definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values = np.maximum(values, values[-1] * np.finfo(np.float64).eps)
    return (vectors * values**exponent) @ vectors.T


def _check_settings(
    steps: int, negatives: float, exponent: float, shrinkage: float, tol: float
) -> None:
    if steps < 0:
        raise SettingError(f"steps can't be negative, and is {steps}.")
    if not (math.isfinite(negatives) and negatives > 0):
        raise SettingError(f"negatives must be a positive number, not {negatives}.")
    if not math.isfinite(exponent):
        raise SettingError(f"exponent must be a finite number, not {exponent}.")
    if not (math.isfinite(shrinkage) and shrinkage >= 0):
        raise SettingError(f"shrinkage must be a number from 0 on, not {shrinkage}.")
    if not 0 <= tol < 1:
        raise SettingError(f"tol must be at least 0 and below 1, not {tol}.")


def _check_start(spectrum: Spectrum, counts: Cooccurrence, tied: bool) -> None:
    if spectrum.vocabulary.words != counts.vocabulary.words:
        raise SettingError(
            f"The model has {len(spectrum.vocabulary):,} words and the counts have "
            f"{len(counts.vocabulary):,}, or others; polish needs the same words in the same order."
        )
    if tied and spectrum.signed:
        raise SettingError(
            "Tied weights have no use for negative eigenvalues: polish with tied=False, or "
            "factorize with signed=False."
        )
    if not tied and spectrum.dim < 2:
        raise SettingError("Untied weights need at least 2 dimensions, one of them for a constant.")
    if counts.pair_counts.total == 0 or counts.word_counts.min() < 1:
        raise CountError("polish needs counts in which every word occurs; restrict the vocabulary.")
    size, dim = spectrum.eigenvectors.shape
    tile = max(TILE_ENTRIES, TILE_ROWS * size)
    require_memory(4 * (12 * size * dim + 2 * tile), "polish", "restrict the vocabulary")
