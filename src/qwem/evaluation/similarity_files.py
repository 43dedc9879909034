"""Word pairs with similarity ratings, and their file formats."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from qwem._internal.inputs import read_lines
from qwem.errors import DataError
from qwem.evaluation.benchmarks import benchmark_file

if TYPE_CHECKING:
    import os
    from pathlib import Path

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
