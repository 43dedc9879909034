"""Tasks, which are word pairs with a common relation, and task vectors, their differences."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.files import read_lines
from qwem.errors import DataError, SettingError
from qwem.evaluation import read_analogies
from qwem.evaluation.benchmarks import benchmark_file

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

    Array = NDArray[np.float64]

Pair = tuple[str, str]
"""Two words, a and b, of which the task vector is b − a."""


@dataclass(frozen=True)
class Task:
    """A named relation between words, given by distinct pairs of them.

    >>> Task("gender", (("man", "woman"), ("king", "queen")))
    Task(gender: 2 pairs)
    """

    name: str
    pairs: tuple[Pair, ...]
    dropped: tuple[Pair, ...] = ()
    """Pairs that `restrict` removed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple((a, b) for a, b in self.pairs))
        if len(set(self.pairs)) < len(self.pairs):
            twice = next(pair for pair in self.pairs if self.pairs.count(pair) > 1)
            raise SettingError(f"The pair {' '.join(twice)!r} is in task {self.name!r} twice.")

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        dropped = f", {len(self.dropped)} dropped" if self.dropped else ""
        return f"Task({self.name}: {len(self)} pairs{dropped})"

    def restrict(self, words: Container[str]) -> Task:
        """Return the task with the pairs of known words only, the others in `dropped`.

        >>> Task("gender", (("man", "woman"), ("king", "queen"))).restrict({"man", "woman"})
        Task(gender: 1 pairs, 1 dropped)
        """
        known = tuple(pair for pair in self.pairs if pair[0] in words and pair[1] in words)
        kept = set(known)
        unknown = tuple(pair for pair in self.pairs if pair not in kept)
        return Task(self.name, known, self.dropped + unknown)


def read_tasks(path: str | os.PathLike[str], *, lower: bool = True) -> list[Task]:
    """Read tasks from analogy questions or from a plain list of pairs.

    Analogy questions in the formats of `read_analogies` give one task for each category, made of
    the distinct pairs in its questions. A list of pairs has two words per line, separated by a
    tab, and is one task with the name of the file. Blank lines and lines that start with ``#`` are
    ignored.

    Parameters
    ----------
    path
        The file, or a name that `benchmark_file` knows, such as ``google``.
    lower
        Whether to lower-case all words.

    >>> read_tasks("google")[4]
    Task(family: 23 pairs)
    """
    file = benchmark_file(path)
    if file.suffix == ".questions" or _holds_questions(file):
        return [Task(*each) for each in read_analogies(file, lower=lower).pairs().items()]
    return [_read_pairs(file, lower)]


def _holds_questions(file: Path) -> bool:
    """Return whether a file begins like analogy questions: with a category, or with four words."""
    for _, line in read_lines(file):
        return line.startswith(":") or ("\t" not in line and len(line.split()) == 4)
    raise DataError(f"{file} holds no word pairs.")


def _read_pairs(file: Path, lower: bool) -> Task:
    places: dict[Pair, int] = {}
    for place, line in read_lines(file):
        words = [word.strip() for word in (line.lower() if lower else line).split("\t")]
        if len(words) != 2 or not all(words):
            raise DataError(
                f"{file}, line {place}: expected two words separated by a tab, found {line!r}."
            )
        pair = (words[0], words[1])
        if pair in places:
            raise DataError(
                f"{file}, line {place}: the pair {' '.join(pair)!r} is already on line "
                f"{places[pair]}; remove one of them."
            )
        places[pair] = place
    return Task(file.stem, tuple(places))


Normalize = Literal["words", "differences"]

_LOGGER = logging.getLogger(__name__)

# Spectra, fits and tests need at least this many pairs.
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
    unknown word are dropped with a warning; `Task.restrict` lists them.

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
    """Return the rows of the first and of the second words of all pairs; all must be known."""
    first, second = (embedding.vocabulary.indices(side) for side in zip(*task.pairs, strict=True))
    return first, second


def dimension_grid(dim: int, count: int = 20) -> tuple[int, ...]:
    """Return about `count` dimensions from 4 to `dim`, evenly spaced on a logarithmic scale.

    >>> dimension_grid(64, 5)
    (4, 8, 16, 32, 64)
    """
    return tuple(np.unique(np.geomspace(min(4, dim), dim, count).round().astype(int)).tolist())


def check_dims(dims: Iterable[int] | None, dim: int) -> tuple[int, ...]:
    """Return dimensions in order, without repeats; `dimension_grid` for None."""
    chosen = dimension_grid(dim) if dims is None else tuple(sorted({int(d) for d in dims}))
    if not chosen or chosen[0] < 1 or chosen[-1] > dim:
        raise SettingError(
            f"dims must lie between 1 and {dim}, the dimension of the embedding, not "
            f"{', '.join(map(str, chosen)) or 'none at all'}."
        )
    return chosen


def dim_ranges(dims: Sequence[int]) -> Iterator[slice]:
    """Yield the range of dimensions that each d adds to the d before it, in growing order."""
    for start, stop in zip((0, *dims), dims, strict=False):
        yield slice(start, stop)


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
    """Return how much each dimension contributes to the squared length of the mean task vector.

    The dimensions of a closed-form embedding are the eigen-features.

    >>> localization(np.array([[3.0, 2.0], [3.0, -4.0]]))
    array([0.9, 0.1])
    """
    squares = vectors.mean(axis=0) ** 2
    total = squares.sum()
    return squares / total if total > 0 else np.full_like(squares, np.nan)


def carriers(shares: Array) -> NDArray[np.int64]:
    """Return the fewest features whose shares make up half, the largest first.

    >>> carriers(np.array([0.3, 0.4, 0.1, 0.2]))
    array([1, 0])
    """
    order = np.argsort(-shares, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(shares[order]), 0.5)) + 1]


def participation_ratio(shares: Array) -> float:
    """Return 1/Σp²: about how many features carry the shares. Its inverse is the IPR.

    >>> participation_ratio(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    return float(1.0 / np.sum(shares**2))
