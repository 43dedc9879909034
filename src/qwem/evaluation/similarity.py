"""Rated word pairs: their file formats, and the correlation of an embedding with people."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from qwem._internal.files import read_lines
from qwem._internal.results import Result
from qwem._internal.settings import require_choice
from qwem.errors import CoverageError, DataError
from qwem.evaluation.benchmarks import benchmark_file

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from qwem.embedding import Embedding

# Names of the column of mean ratings in published files: MEN, WordSim353, SimLex-999, and others.
_SCORE_NAMES = ("score", "human (mean)", "simlex999", "mean", "rating", "similarity", "relatedness")

# The parts of speech that MEN's lemma form appends to its words (sun-n, go-v, red-j).
_MEN_SUFFIXES = ("-n", "-v", "-j")


class RatedPair(NamedTuple):
    """Two words and the similarity that people gave them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class SimilaritySet:
    """Word pairs and the similarity that people gave them, on any scale.

    >>> SimilaritySet("mine", (("sun", "sunlight", 9.0), ("sun", "car", 1.0)))
    SimilaritySet(mine: 2 pairs)
    """

    name: str
    pairs: tuple[RatedPair, ...]
    """Two words and their score; plain tuples will do."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(RatedPair(*pair) for pair in self.pairs))

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"SimilaritySet({self.name}: {len(self):,} pairs)"


def read_similarity(path: str | os.PathLike[str], *, lower: bool = True) -> SimilaritySet:
    """Read rated word pairs: MEN, WordSim353, SimLex-999, SimVerb-3500, RareWord, MTurk-771.

    Each line has two words and a score, separated by tabs, commas or spaces. If the first line
    names the columns, the score is in the column with a name such as ``score`` or ``SimLex999``;
    otherwise it is the first number after the words (SimVerb-3500 has a part of speech before it,
    RareWord has the single ratings after it). Lines that start with ``#`` are comments. The
    part-of-speech endings of MEN's lemma form are removed.

    Parameters
    ----------
    path
        The file, or a name that `benchmark_file` knows. The name of the set is the file's name
        without its suffix.
    lower
        Whether to convert all words to lower case.

    >>> read_similarity("simlex999")
    SimilaritySet(simlex999: 999 pairs)
    """
    file = benchmark_file(path)
    lines = list(read_lines(file))
    if not lines:
        raise DataError(f"{file} contains no word pairs.")
    delimiter = _delimiter(lines[0][1])
    rows = [(place, _fields(file, place, line, delimiter)) for place, line in lines]
    if _is_header(rows[0][1]):
        column = _named_column(rows[0][1])
        rows = rows[1:]
    else:
        column = _first_number(rows[0][1])
    pairs = [_pair(file, place, fields, column) for place, fields in rows]
    if not pairs:
        raise DataError(f"{file} contains no word pairs after the names of its columns.")
    if all(pair.first.endswith(_MEN_SUFFIXES) for pair in pairs) and all(
        pair.second.endswith(_MEN_SUFFIXES) for pair in pairs
    ):
        pairs = [RatedPair(first[:-2], second[:-2], score) for first, second, score in pairs]
    if lower:
        pairs = [RatedPair(first.lower(), second.lower(), score) for first, second, score in pairs]
    return SimilaritySet(file.stem, tuple(pairs))


def _delimiter(line: str) -> str | None:
    return next((mark for mark in "\t,;" if mark in line), None)


def _fields(file: Path, place: int, line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        fields = next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:  # a carriage return within it, or more than a hundred kilobytes
        raise DataError(
            f"{file}, line {place}: expected two words and a score, found {line[:40]!r}."
        ) from error
    return [field.strip() for field in fields]


def _is_header(fields: list[str]) -> bool:
    """Return whether a line names columns, and is not a pair with a damaged score."""
    names = [field.lower() for field in fields]
    known = names[0].startswith("word") or any(name in _SCORE_NAMES for name in names[2:])
    return len(names) > 2 and known and _number(names[2]) is None


def _first_number(fields: list[str]) -> int:
    """Return the first column after the words that is a number, or else the third column."""
    return next((k for k, field in enumerate(fields) if k > 1 and _number(field) is not None), 2)


def _named_column(header: list[str]) -> int:
    names = [name.lower() for name in header]
    return next((names.index(name) for name in _SCORE_NAMES if name in names), 2)


def _pair(file: Path, place: int, fields: list[str], column: int) -> RatedPair:
    if len(fields) <= column or not fields[0] or not fields[1]:
        raise DataError(
            f"{file}, line {place}: expected two words and a score in column {column + 1}, "
            f"found {' '.join(fields)!r}."
        )
    score = _number(fields[column])
    if score is None:
        raise DataError(f"{file}, line {place}: the score {fields[column]!r} is not a number.")
    return RatedPair(fields[0], fields[1], score)


def _number(field: str) -> float | None:
    try:
        number = float(field)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


Measure = Literal["cosine", "inner"]


@dataclass(frozen=True)
class SimilarityResult(Result):
    """Spearman's rank correlation of an embedding's similarities with people's ratings."""

    derived: ClassVar[tuple[str, ...]] = ("coverage",)
    name: str
    """The set of rated pairs."""
    spearman: float
    """ρ, the correlation of the ranks; equal values share their mean rank."""
    pairs: int
    """Pairs whose two words the embedding has."""
    skipped: int
    """Pairs with a word that the embedding does not have."""

    @property
    def coverage(self) -> float:
        """The fraction of all pairs that were scored."""
        return self.pairs / (self.pairs + self.skipped)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row."""
        scores = {"Spearman": self.spearman, "pairs": self.pairs, "skipped": self.skipped}
        return [{"rated pairs": self.name, **scores}]


def evaluate_similarity(
    embedding: Embedding,
    pairs: SimilaritySet | str | os.PathLike[str],
    *,
    measure: Measure = "cosine",
) -> SimilarityResult:
    """Correlate the similarities of word pairs with the ratings that people gave them.

    Parameters
    ----------
    embedding
        The embedding to evaluate. Pairs with a word that it does not have are skipped.
    pairs
        A `SimilaritySet`, or a file or benchmark that `read_similarity` reads.
    measure
        ``cosine``, as is usual, or ``inner``, the inner product of the paper's text.

    >>> from qwem.embedding import Embedding
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (("sun", "light", 9), ("sun", "car", 1)))
    >>> round(evaluate_similarity(plane, rated).spearman, 4)
    1.0
    """
    from scipy.stats import spearmanr

    require_choice("measure", measure, get_args(Measure))
    rated = pairs if isinstance(pairs, SimilaritySet) else read_similarity(pairs)
    known = [pair for pair in rated.pairs if pair.first in embedding and pair.second in embedding]
    if len(known) < 2:
        raise CoverageError(
            f"{len(known)} of the {len(rated):,} pairs of {rated.name} have both words among the "
            f"{len(embedding):,} of the embedding, and a correlation needs 2; use a larger "
            "vocabulary or other pairs."
        )
    rows = [embedding.vocabulary.indices(side) for side in list(zip(*known, strict=True))[:2]]
    first, second = (embedding.vectors[side].astype(np.float64) for side in rows)
    similarity = np.einsum("ij,ij->i", first, second)
    if measure == "cosine":
        lengths = embedding.norms[rows[0]] * embedding.norms[rows[1]]
        similarity = np.divide(
            similarity, lengths, out=np.zeros_like(similarity), where=lengths > 0
        )
    scores = [pair.score for pair in known]
    if np.ptp(similarity) == 0 or np.ptp(scores) == 0:
        raise CoverageError(
            f"All {len(known):,} pairs of {rated.name} that the embedding knows are equally "
            "similar, so they have no rank correlation; use other pairs."
        )
    spearman = float(spearmanr(similarity, scores).statistic)
    return SimilarityResult(rated.name, spearman, len(known), len(rated) - len(known))
