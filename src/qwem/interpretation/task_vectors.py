"""Task vectors: the differences of word pairs, and their geometry."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.interpretation.tasks import Task

    Array = NDArray[np.float64]

Normalize = Literal["words", "differences"]

_LOGGER = logging.getLogger(__name__)

# Spectra, fits and tests say nothing about fewer pairs.
MIN_PAIRS = 3


def known_task(embedding: Embedding, task: Task) -> Task:
    """Return the task with the pairs that the embedding knows, which must be at least 3."""
    known = task.restrict(embedding)
    if len(known) < MIN_PAIRS:
        raise DataError(
            f"Task {task.name!r} has {len(known)} of its {len(task)} pairs among the "
            f"{len(embedding):,} words of the embedding and needs {MIN_PAIRS}; use more pairs "
            "or a larger vocabulary."
        )
    return known


def task_vectors(
    embedding: Embedding,
    task: Task,
    dim: int | None = None,
    *,
    normalize: Normalize | None = None,
) -> Array:
    """Return R, one row b − a for each pair of the task whose words the embedding knows.

    As in the paper, neither words nor differences are normalized by default. The embedding of a
    smaller dimension d is a prefix of the vectors, so ``R[:, :d]`` is its R_d. Pairs with an
    unknown word are dropped with a warning; `Task.restrict` tells which.

    Parameters
    ----------
    embedding, task
        The word vectors and the pairs.
    dim
        Use only the first dimensions, R_d.
    normalize
        ``words`` scales each word's vector to length one first, ``differences`` each row of R.

    >>> from qwem.embedding import Embedding
    >>> from qwem.interpretation import Task
    >>> words = ["man", "woman", "king", "queen", "boy", "girl"]
    >>> space = Embedding(words, [[1, 0], [0, 1], [2, 0], [1, 1], [1, 1], [0, 2]])
    >>> task_vectors(space, Task("gender", (("man", "woman"), ("king", "queen"), ("boy", "girl"))))
    array([[-1.,  1.],
           [-1.,  1.],
           [-1.,  1.]])
    """
    known = known_task(embedding, task)
    new = len(known.dropped) - len(task.dropped)
    if new:
        _LOGGER.warning(
            "%d of the %d pairs of task %r have words that the embedding doesn't know",
            new,
            len(task),
            task.name,
        )
    if normalize not in (None, "words", "differences"):
        raise SettingError(f"normalize must be words, differences or None, not {normalize!r}.")
    first, second = (
        embedding.vectors[rows, :dim].astype(np.float64) for rows in pair_rows(embedding, known)
    )
    if normalize == "words":
        first, second = unit_rows(first), unit_rows(second)
    vectors: Array = second - first
    return unit_rows(vectors) if normalize == "differences" else vectors


def pair_rows(embedding: Embedding, task: Task) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the first and of the second words of all pairs, which must be known."""
    first, second = (embedding.vocabulary.indices(side) for side in zip(*task.pairs, strict=True))
    return first, second


def dimension_grid(dim: int, count: int = 20) -> tuple[int, ...]:
    """Return about `count` dimensions from 4 to `dim`, evenly spaced on a logarithmic scale.

    >>> dimension_grid(64, 5)
    (4, 8, 16, 32, 64)
    """
    return tuple(np.unique(np.geomspace(min(4, dim), dim, count).round().astype(int)).tolist())


def check_dims(dims: Iterable[int] | None, dim: int) -> tuple[int, ...]:
    """Return dimensions in order, without repeats; `dimension_grid` where None is given."""
    chosen = dimension_grid(dim) if dims is None else tuple(sorted({int(d) for d in dims}))
    if not chosen or chosen[0] < 1 or chosen[-1] > dim:
        raise SettingError(
            f"dims must lie between 1 and {dim}, the dimension of the embedding, not "
            f"{', '.join(map(str, chosen)) or 'none at all'}."
        )
    return chosen


def slabs(dims: Sequence[int]) -> Iterator[slice]:
    """Yield for each d, in growing order, the dimensions that the d before it does not have."""
    for start, stop in zip((0, *dims), dims, strict=False):
        yield slice(start, stop)


def gram_matrices(vectors: Array, dims: Sequence[int]) -> Iterator[Array]:
    """Yield G_d = R_d R_dᵀ for each d in growing order, each computed from the one before.

    >>> R = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> [gram.tolist() for gram in gram_matrices(R, (1, 2))]
    [[[1.0, 0.0], [0.0, 0.0]], [[5.0, 2.0], [2.0, 1.0]]]
    """
    gram = np.zeros((len(vectors), len(vectors)))
    for slab in slabs(dims):
        gram = gram + vectors[:, slab] @ vectors[:, slab].T
        yield gram


def signal_to_noise(eigenvalues: Array) -> float:
    """Return the paper's SNR, λ_max·rank(G)/Tr G, of the eigenvalues of a Gram matrix.

    It is the largest eigenvalue divided by the mean of the nonzero ones: 1 where they are all
    equal, and the rank where one direction has everything.

    >>> signal_to_noise(np.array([0.0, 1.0, 3.0]))
    1.5
    """
    largest = eigenvalues.max()
    rank = np.sum(eigenvalues > largest * len(eigenvalues) * np.finfo(np.float64).eps)
    return float(largest * rank / eigenvalues.sum()) if largest > 0 else float("nan")


def signal_in_mean(gram: Array, largest: float) -> float:
    """Return 1ᵀG1/(N·λ_max) ≤ 1: the share of the mean task vector in the spike.

    >>> signal_in_mean(np.ones((3, 3)), largest=3.0)
    1.0
    """
    return float(gram.sum() / (len(gram) * largest)) if largest > 0 else float("nan")


def localization(vectors: Array) -> Array:
    """Return the share of each dimension in the mean task vector's squared length.

    The dimensions of a closed-form embedding are the eigen-features.

    >>> localization(np.array([[3.0, 2.0], [3.0, -4.0]]))
    array([0.9, 0.1])
    """
    squares = vectors.mean(axis=0) ** 2
    total = squares.sum()
    return squares / total if total > 0 else np.full_like(squares, np.nan)


def participation_ratio(shares: Array) -> float:
    """Return 1/Σp²: about how many places carry the shares. Its inverse is the IPR.

    >>> participation_ratio(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    return float(1.0 / np.sum(shares**2))
