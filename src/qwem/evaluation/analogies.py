"""How many analogy questions an embedding answers (the paper's appendix, Benchmarks)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem._internal.blocks import blocks
from qwem._internal.vectors import unit_rows
from qwem.errors import CoverageError, SettingError
from qwem.evaluation.analogy_files import AnalogySet, read_analogies

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

Method = Literal["cosine", "parallelogram", "candidate"]
Pairs = Literal["file", "all"]

# Distances of one tile of questions to all words, in bytes.
_TILE_BYTES = 1 << 26


@dataclass(frozen=True)
class AnalogyScore:
    """How many questions were answered rightly, asked, and left out for an unknown word."""

    correct: int
    questions: int
    skipped: int

    @property
    def accuracy(self) -> float:
        """The fraction of the questions asked that were answered rightly; NaN if none was asked."""
        return self.correct / self.questions if self.questions else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; the accuracy of no questions is null."""
        accuracy = self.accuracy if self.questions else None
        return {"accuracy": accuracy, "questions": self.questions, "skipped": self.skipped}


@dataclass(frozen=True)
class AnalogyResult(AnalogyScore):
    """The score over all questions, and over those of each category."""

    by_category: Mapping[str, AnalogyScore]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        categories = {name: score.to_dict() for name, score in self.by_category.items()}
        return {**super().to_dict(), "by_category": categories}


def evaluate_analogies(
    embedding: Embedding,
    questions: AnalogySet | str | os.PathLike[str],
    *,
    method: Method = "cosine",
    pairs: Pairs = "file",
) -> AnalogyResult:
    """Ask an embedding analogy questions, and count the right answers.

    A question with an unknown word is skipped and counted as such. The three words of a question
    can't answer it, nor can a word whose vector is zero; between equally good answers the first
    word of the embedding wins.

    Parameters
    ----------
    embedding
        What is to be evaluated.
    questions
        An `AnalogySet`, or a file or benchmark that `read_analogies` reads.
    method
        ``cosine``, the paper's accuracy: argmax ŵ·(â′ + b̂ − â). ``parallelogram``, the same in its
        second form: argmin ‖â − b̂ − â′ + ŵ‖², which gives the same answers more slowly.
        ``candidate``, where only the candidate is normalised: argmax ŵ·(a′ + b − a).
    pairs
        ``file`` asks the questions in the file; ``all`` asks every ordered pair of the distinct
        word pairs of each category, as the paper's reference implementation does.

    >>> from qwem.embedding import Embedding
    >>> words = ["man", "woman", "king", "queen"]
    >>> space = Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]])
    >>> evaluate_analogies(space, AnalogySet("one", {"family": (tuple(words),)})).accuracy
    1.0
    """
    _check_choice("method", method, get_args(Method))
    _check_choice("pairs", pairs, get_args(Pairs))
    asked = questions if isinstance(questions, AnalogySet) else read_analogies(questions)
    if pairs == "all":
        asked = asked.all_pairs()
    rows = {name: _known_rows(embedding, found) for name, found in asked.categories.items()}
    everything = np.concatenate([*rows.values(), np.empty((0, 4), dtype=np.int64)])
    if not len(everything):
        raise CoverageError(
            f"None of the {len(asked):,} questions of {asked.name} has all its words among the "
            f"{len(embedding):,} of the embedding; use a larger vocabulary or other questions."
        )
    right = _answers(embedding, everything[:, :3], method) == everything[:, 3]
    ends = np.cumsum([len(found) for found in rows.values()])
    by_category = {
        name: AnalogyScore(int(part.sum()), len(part), len(asked.categories[name]) - len(part))
        for name, part in zip(rows, np.split(right, ends[:-1]), strict=True)
    }
    return AnalogyResult(int(right.sum()), len(right), len(asked) - len(right), by_category)


def _known_rows(
    embedding: Embedding, questions: tuple[tuple[str, str, str, str], ...]
) -> NDArray[np.int64]:
    """Return the rows of the words of those questions that have all four, one line each."""
    index = embedding.key_to_index
    known = [
        [index[word] for word in question]
        for question in questions
        if all(word in index for word in question)
    ]
    return np.array(known, dtype=np.int64).reshape(-1, 4)


def _answers(embedding: Embedding, asked: NDArray[np.int64], method: Method) -> NDArray[np.int64]:
    """Return the row that answers each question (a, b, a′), −1 where none does."""
    normalised = method != "candidate"
    a, b, c = (_rows(embedding, side, normalised) for side in asked.T)
    target = c + b - a
    if method == "parallelogram":
        return _closing(target, _rows(embedding, np.arange(len(embedding)), normalised), asked)
    answers: NDArray[np.int64] = embedding.nearest_indices(target, 1, asked)[0][:, 0]
    return answers


def _rows(embedding: Embedding, rows: NDArray[np.int64], normalised: bool) -> NDArray[np.float64]:
    vectors = embedding.vectors[rows]
    return unit_rows(vectors) if normalised else vectors.astype(np.float64)


def _closing(
    target: NDArray[np.float64], unit: NDArray[np.float64], asked: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the row ŵ that minimises ‖ŵ − target‖², which closes the parallelogram."""
    from scipy.spatial.distance import cdist

    answers = np.full(len(target), -1, dtype=np.int64)
    zero = ~unit.any(axis=1)
    for tile in blocks(len(target), 8 * len(unit), most=_TILE_BYTES):
        # Rounded as cosines are for their order, so that equal distances are found to be equal.
        distances = cdist(target[tile], unit, "sqeuclidean").round(12)
        distances[:, zero] = np.inf
        np.put_along_axis(distances, asked[tile], np.inf, axis=1)
        answered = np.isfinite(distances).any(axis=1) & target[tile].any(axis=1)
        answers[tile][answered] = distances.argmin(axis=1)[answered]
    return answers


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
