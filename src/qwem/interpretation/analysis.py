"""Analysis of a task in every dimension: spectrum, noise, signal, and analogies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qwem._internal.arrays import blocks, quotient
from qwem._internal.resources import progress
from qwem._internal.results import Result, as_plain
from qwem.errors import CoverageError
from qwem.interpretation.marchenko_pastur import MarchenkoPasturFit, fit_marchenko_pastur
from qwem.interpretation.spiked import SpikedModel, spiked_model
from qwem.interpretation.tasks import (
    check_dims,
    dim_ranges,
    known_task,
    localization,
    pair_rows,
    participation_ratio,
    signal_in_mean,
    signal_to_noise,
    task_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.interpretation.tasks import Normalize, Task

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

# Entries of the vectors that are converted to float64 at a time.
_BLOCK_ENTRIES = 1 << 23

# Number of rival words, and of nodes of the quadrature, for the predicted accuracy.
_RIVALS, _NODES = 100, 31

# Cosines as close as this count as equal, and the first word wins, as in `qwem.evaluation`.
_TIE = 1e-12


def analogy_curves(embedding: Embedding, task: Task, dims: Sequence[int]) -> dict[str, Any]:
    """Answer every ordered pair of known pairs as a question a : b :: c : w, in every dimension.

    The questions and answers are those of `qwem.evaluate_analogies` with ``pairs="all"``, the
    protocol of the paper's reference implementation. Returned are the curves of `TaskAnalysis` on
    how well ĉ + b̂ − â predicts ŵ, on average over questions. They are sums of cosines between words
    of the task and all words, to which each dimension adds its own part.
    """
    sources, targets = pair_rows(embedding, task)
    words, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    first, second = np.split(places, 2)
    one, other = np.nonzero(~np.eye(len(sources), dtype=bool))
    found: dict[str, list[float]] = {
        "accuracy": [], "predicted_accuracy": [], "cosine": [], "normalized_score": []
    }  # fmt: skip
    with progress(f"analogies of {task.name}", total=len(dims), unit="dimension") as bar:
        for dim, cosines, zero in _growing_cosines(embedding, words, dims):
            words_of = first[one], second[one], first[other], second[other]
            products, lengths = _predictions(cosines[:, words], *words_of)
            aligned = quotient(products, lengths, least=_TIE, other=np.nan)
            right = _right_answers(cosines, zero, first, second, sources, targets)[one, other]
            right &= lengths > _TIE
            rivals = _rivals(cosines[second], sources, targets, one, other)
            relative = quotient(aligned, rivals, other=np.nan)
            predicted = _predicted_accuracy(cosines, zero, dim, first, second, words)
            numbers = right.mean(), predicted, aligned.mean(), relative.mean()
            for curve, number in zip(found.values(), numbers, strict=True):
                curve.append(float(number))
            bar.update()
    return {name: np.array(curve) for name, curve in found.items()}


def _growing_cosines(
    embedding: Embedding, words: Rows, dims: Sequence[int]
) -> Iterator[tuple[int, Array, Rows]]:
    """Yield each d, the cosines of some words with all words, and the rows of zero vectors."""
    vectors = embedding.vectors
    products = np.zeros((len(words), len(vectors)))
    squares = np.zeros(len(vectors))
    for added in dim_ranges(dims):
        own = vectors[words, added].astype(np.float64)
        for block in blocks(len(vectors), own.shape[1], most=_BLOCK_ENTRIES):
            wide = vectors[block, added].astype(np.float64)
            products[:, block] += own @ wide.T
            squares[block] += np.einsum("ij,ij->i", wide, wide)
        lengths = np.sqrt(squares)
        inverse = quotient(np.ones(1), lengths)
        yield added.stop, products * inverse[words, None] * inverse, np.flatnonzero(lengths == 0)


def _predictions(within: Array, a: Rows, b: Rows, c: Rows, w: Rows) -> tuple[Array, Array]:
    """Return ŵ·(ĉ + b̂ − â) and ‖ĉ + b̂ − â‖ for each question."""
    own = np.diag(within)
    products = within[c, w] + within[b, w] - within[a, w]
    squares = own[c] + (own[b] + own[a] - 2 * within[a, b])
    squares = squares + 2 * (within[b, c] - within[a, c])
    return products, np.sqrt(np.maximum(squares, 0.0))


def _rivals(near: Array, sources: Rows, targets: Rows, one: Rows, other: Rows) -> Array:
    """Return the largest cosine of w with a word outside each question.

    `near` has the cosines of each pair's w with all words; a question has the words of two pairs.
    """
    near[np.arange(len(near)), sources] = near[np.arange(len(near)), targets] = -np.inf
    # Of the three nearest words at most two are a and b.
    kept = min(3, near.shape[1])
    nearest = np.argpartition(near, near.shape[1] - kept, axis=1)[:, near.shape[1] - kept :]
    values = np.take_along_axis(near, nearest, axis=1)[other]
    asked = nearest[other]
    in_question = (asked == sources[one, None]) | (asked == targets[one, None])
    rivals: Array = np.where(in_question, -np.inf, values).max(axis=1)
    return rivals


def _predicted_accuracy(
    cosines: Array, zero: Rows, dim: int, first: Rows, second: Rows, words: Rows
) -> float:
    """Return the accuracy that the mean task vector, its noise and the spacing of words predict.

    The question a : b :: c : w has the scores ŵ′·(ĉ + r), where r = b̂ − â = m + z. Let the noise z
    have the variance σ² in every direction, as in the spiked model. Then w beats w′ by the margin
    μ′ = (ĉ + m)·(ŵ − ŵ′) plus z·(ŵ − ŵ′). All margins share z·ŵ = σy, of which z·ŵ′ has the part
    ρ′ = ŵ·ŵ′; the rest differs from word to word. So w is the answer with probability

        E_y Π_w′ Φ((μ′ + σ(1 − ρ′)y) / (σ√(1 − ρ′²))),   y normal,

    on average over pairs (c, w), with m the mean of the others. The product is over the words with
    the smallest margins.
    """
    from scipy.special import log_ndtr

    count, own = len(first), np.arange(len(first))
    moves = cosines[second] - cosines[first]  # r_n·ŵ′ for all pairs n and words w′
    gram = moves[:, words[second]] - moves[:, words[first]]
    noise = (np.trace(gram) - gram.sum() / count) / (count - 1)
    scores = cosines[first] + (moves.sum(axis=0) - moves) / (count - 1)
    right = scores[own, words[second]]
    scores[:, zero] = -np.inf
    scores[own, words[first]] = scores[own, words[second]] = -np.inf
    kept = min(_RIVALS, scores.shape[1] - 1)
    near = np.argpartition(-scores, kept, axis=1)[:, :kept]
    margins = right[:, None] - np.take_along_axis(scores, near, axis=1)
    similar = np.clip(np.take_along_axis(cosines[second], near, axis=1), -1.0, 1.0)
    at, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    sigma = np.sqrt(max(noise / dim, _TIE))
    spread = np.maximum(sigma * np.sqrt(1 - similar**2), _TIE)
    moved = margins[..., None] + sigma * (1 - similar)[..., None] * at
    chances = np.exp(log_ndtr(moved / spread[..., None]).sum(axis=1))
    return float(np.mean(chances @ weights / weights.sum()))


def _right_answers(
    cosines: Array, zero: Rows, first: Rows, second: Rows, sources: Rows, targets: Rows
) -> NDArray[np.bool_]:
    """Return which questions are answered by w: a row for each pair (a, b), a column for (c, w)."""
    every, right = np.arange(len(first)), np.zeros((len(first), len(first)), dtype=bool)
    queries = cosines[first]
    scores = np.empty_like(queries)
    for pair in every:
        np.add(queries, cosines[second[pair]] - cosines[first[pair]], out=scores)
        scores[:, [sources[pair], targets[pair], *zero]] = -np.inf
        scores[every, sources] = -np.inf
        enough = scores.max(axis=1) - _TIE
        for other in np.flatnonzero(scores[every, targets] >= enough):
            right[pair, other] = np.argmax(scores[other] >= enough[other]) == targets[other]
    return right


PAIRS_WITH_A_BULK = 6

_CURVES = (
    "snr", "signal_in_mean", "accuracy", "predicted_accuracy", "cosine", "normalized_score"
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class TaskAnalysis(Result):
    """Analysis of the task vectors of one task for each d (the paper's Figure 4 and appendix).

    >>> from qwem import Embedding
    >>> from qwem.interpretation import Task, analyze_task
    >>> words = ["man", "woman", "king", "queen", "boy", "girl"]
    >>> space = Embedding(words, [[4, 0], [0, 4], [9, 1], [5, 5], [4, 2], [1, 6]])
    >>> gender = Task("gender", (("man", "woman"), ("king", "queen"), ("boy", "girl")))
    >>> analyze_task(space, gender, dims=[2]).snr.round(2)
    array([1.99])
    """

    derived: ClassVar[tuple[str, ...]] = ("participation_ratios", "gram_eigenvalues")
    task: Task
    """The pairs that were used; those with unknown words are in its `dropped`."""
    dims: tuple[int, ...]
    fits: tuple[MarchenkoPasturFit, ...]
    """The Marchenko–Pastur law of the noise for each d."""
    spiked: tuple[SpikedModel, ...]
    """The spiked model for each d, with the noise that was measured on each feature."""
    spectral: tuple[SpikedModel, ...]
    """The spiked model for each d, with noise in proportion to λ_k."""
    snr: Array
    """λ_max·rank/Tr of G_d."""
    signal_in_mean: Array
    """1ᵀG_d1/(N·λ_max): the share of the mean task vector in the spike."""
    accuracy: Array
    """The fraction of analogies answered correctly, over all ordered pairs of pairs."""
    predicted_accuracy: Array
    """The accuracy that the mean task vector, its noise and the spacing of words predict."""
    cosine: Array
    """The mean cosine between the prediction ĉ + b̂ − â and the right word ŵ."""
    normalized_score: Array
    """The mean of that cosine divided by the largest one between ŵ and a word outside the
    question (the appendix, on why accuracy stays high)."""
    localization: Array
    """How much each feature contributes to the squared length of the mean task vector."""

    def __repr__(self) -> str:
        best = int(np.argmax(self.snr))
        data = f"{len(self.task)} pairs, {len(self.dims)} dimensions up to {self.dims[-1]:,}"
        snr = f"SNR {self.snr[best]:.1f} at {self.dims[best]}"
        accuracy = f"accuracy up to {self.accuracy.max():.1%}"
        return f"TaskAnalysis({self.task.name}: {data}: {snr}, {accuracy})"

    @property
    def participation_ratio(self) -> float:
        """1/Σp² of the localization: about how many features carry the mean task vector."""
        return participation_ratio(self.localization)

    @property
    def participation_ratios(self) -> Array:
        """The participation ratio for each d, counting only the first d features."""
        shares = self.localization
        return np.array([participation_ratio(shares[:d] / shares[:d].sum()) for d in self.dims])

    @property
    def gram_eigenvalues(self) -> tuple[Array, ...]:
        """Eigenvalues of G_d = R_d R_dᵀ for each d, the smallest first."""
        return tuple(d * fit.eigenvalues for d, fit in zip(self.dims, self.fits, strict=True))

    @property
    def effective_dims(self) -> Array:
        """The fitted d_eff for each d."""
        return np.array([fit.effective_dim for fit in self.fits])

    def heading(self) -> str:
        """Return the task, and how many of its pairs are known."""
        return f"{self.task.name}: {len(self.task)} pairs of known words.\n"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each d."""
        columns = ("effective_dims", *_CURVES)
        return [
            {"d": d} | {name: float(getattr(self, name)[at]) for name in columns}
            for at, d in enumerate(self.dims)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON, with the task as its name, pairs and dropped pairs."""
        return {
            **super().to_dict(),
            "task": self.task.name,
            "pairs": as_plain(self.task.pairs),
            "dropped": as_plain(self.task.dropped),
        }


def analyze_task(
    embedding: Embedding,
    task: Task,
    dims: Iterable[int] | None = None,
    *,
    normalize: Normalize | None = None,
) -> TaskAnalysis:
    """Analyze the task vectors of a task in an embedding and in its first d dimensions.

    The first d dimensions of a closed-form embedding are the embedding of dimension d, so nothing
    is fitted again: each dimension adds its part to inner products. Other vectors, such as trained
    ones, have no such order; give them one with `principal_axes`.

    Parameters
    ----------
    embedding
        The largest embedding.
    task
        Its pairs with unknown words are left out, and listed in ``analysis.task.dropped``.
    dims
        The dimensions to analyze; by default 20 from 4 to all, evenly spaced on a logarithmic
        scale.
    normalize
        Whether to scale word vectors or task vectors to length one first, as in `task_vectors`.

    >>> from qwem.embedding import Embedding
    >>> from qwem.interpretation import Task
    >>> words = ["man", "woman", "king", "queen", "boy", "girl"]
    >>> space = Embedding(words, [[4, 0], [0, 4], [9, 1], [5, 5], [4, 2], [1, 6]])
    >>> gender = Task("gender", (("man", "woman"), ("king", "queen"), ("boy", "girl")))
    >>> analysis = analyze_task(space, gender, dims=[2])
    >>> analysis.snr.round(2), analysis.signal_in_mean.round(2)
    (array([1.99]), array([1.]))
    """
    known = known_task(embedding, task)
    chosen = check_dims(dims, embedding.vector_size)
    parts = [task_vectors(embedding, known, d, normalize=normalize) for d in chosen]
    grams = [part @ part.T for part in parts]
    fits = tuple(fit_marchenko_pastur(gram, d) for gram, d in zip(grams, chosen, strict=True))
    eigenvalues = np.einsum("ij,ij->j", *[embedding.vectors.astype(np.float64)] * 2)
    return TaskAnalysis(
        task=known,
        dims=chosen,
        fits=fits,
        spiked=tuple(spiked_model(part) for part in parts),
        spectral=tuple(spiked_model(part, eigenvalues) for part in parts),
        snr=np.array([signal_to_noise(fit.eigenvalues) for fit in fits]),
        signal_in_mean=np.array(
            [signal_in_mean(g / d, f.spike) for g, d, f in zip(grams, chosen, fits, strict=True)]
        ),
        localization=localization(task_vectors(embedding, known, normalize=normalize)),
        **analogy_curves(embedding, known, chosen),
    )


def analyze_tasks(
    embedding: Embedding,
    tasks: Iterable[Task],
    dims: Iterable[int] | None = None,
    *,
    normalize: Normalize | None = None,
) -> list[TaskAnalysis]:
    """Analyze the tasks that have at least 6 pairs of known words.

    With fewer pairs there are too few eigenvalues to see a bulk beside the spike.

    >>> from qwem.embedding import Embedding
    >>> from qwem.interpretation import Task
    >>> words = [f"w{i}" for i in range(14)]
    >>> space = Embedding(words, np.random.default_rng(0).normal(size=(14, 3)))
    >>> pairs = tuple(zip(words[:7], words[7:]))
    >>> [found.task for found in analyze_tasks(space, [Task("all", pairs), Task("few", pairs[:2])])]
    [Task(all: 7 pairs)]
    """
    restricted = [task.restrict(embedding) for task in tasks]
    known = [task for task in restricted if len(task) >= PAIRS_WITH_A_BULK]
    if not known:
        raise CoverageError(
            f"None of the {len(restricted)} tasks has {PAIRS_WITH_A_BULK} pairs among the "
            f"{len(embedding):,} words of the embedding; use more pairs or a larger vocabulary."
        )
    chosen = check_dims(dims, embedding.vector_size)
    found = []
    with progress("task vectors", len(known), "task") as bar:
        for task in known:
            found.append(analyze_task(embedding, task, chosen, normalize=normalize))
            bar.update()
    return found
