"""Analogy questions and their file formats."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qwem._internal.inputs import read_lines
from qwem.errors import DataError
from qwem.evaluation.benchmarks import benchmark_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Question = tuple[str, str, str, str]
"""a is to b as a′ is to b′."""

# MSR's categories, pairs of part-of-speech tags: JJ_JJR, NN_NNPOS, VBZ_VBD.
_TAG = re.compile("[A-Z]+_[A-Z]+")


@dataclass(frozen=True)
class AnalogySet:
    """Analogy questions in named categories.

    >>> family = [("man", "woman", "king", "queen"), ("man", "woman", "boy", "girl")]
    >>> questions = AnalogySet("mine", {"family": tuple(family)})
    >>> len(questions), len(questions.all_pairs())
    (2, 6)
    """

    name: str
    categories: Mapping[str, tuple[Question, ...]]

    def __len__(self) -> int:
        return sum(len(questions) for questions in self.categories.values())

    def __repr__(self) -> str:
        return (
            f"AnalogySet({self.name}: {len(self):,} questions, {len(self.categories)} categories)"
        )

    def all_pairs(self) -> AnalogySet:
        """Return every ordered pair of the distinct word pairs of each category as a question.

        This is the protocol of the paper's reference implementation. Files contain fewer questions:
        Google's has 4,524 of the 13,340 questions about its 116 capitals of the world.
        """
        return AnalogySet(
            self.name, {name: _ordered(questions) for name, questions in self.categories.items()}
        )


def read_analogies(path: str | os.PathLike[str], *, lower: bool = True) -> AnalogySet:
    """Read analogy questions in Google's or MSR's format.

    Google's format has four words per line. Lines such as ``: family`` start a category; without
    them there is one category, with the name of the file. MSR's format has three words per line in
    a file ``*.questions``, and the category and the fourth word in a file ``*.answers`` next to it;
    or all five in one line (``good better rough JJ_JJR rougher``).

    Parameters
    ----------
    path
        The file (of MSR's two, the one with the questions), or a name that `benchmark_file` knows.
    lower
        Whether to convert all words to lower case.

    >>> read_analogies("google")
    AnalogySet(questions-words: 19,544 questions, 14 categories)
    """
    file = benchmark_file(path)
    entries = _msr_entries(file) if file.suffix == ".questions" else _google_entries(file)
    categories: dict[str, list[Question]] = {}
    for category, (a, b, c, d) in entries:
        question = (a.lower(), b.lower(), c.lower(), d.lower()) if lower else (a, b, c, d)
        categories.setdefault(category, []).append(question)
    if not categories:
        raise DataError(f"{file} contains no analogy questions.")
    return AnalogySet(file.stem, {name: tuple(found) for name, found in categories.items()})


def _google_entries(file: Path) -> Iterator[tuple[str, Question]]:
    category = file.stem
    for place, line in read_lines(file):
        if line.startswith(":"):
            category = line[1:].strip()
            if not category:
                raise DataError(f"{file}, line {place}: a category needs a name after the colon.")
            continue
        words = line.split()
        if len(words) == 5 and _TAG.fullmatch(words[3]):
            yield words.pop(3), _four(file, place, words)
        else:
            yield category, _four(file, place, words)


def _msr_entries(file: Path) -> Iterator[tuple[str, Question]]:
    answers_file = file.with_suffix(".answers")
    questions, answers = list(read_lines(file)), list(read_lines(answers_file))
    if len(questions) != len(answers):
        raise DataError(
            f"{file} has {len(questions):,} questions and {answers_file} {len(answers):,} answers; "
            "each question needs an answer on the same line."
        )
    for (place, question), (answer_place, answer) in zip(questions, answers, strict=True):
        label, *word = answer.split()
        if len(word) != 1:
            raise DataError(
                f"{answers_file}, line {answer_place}: expected a category and a word, "
                f"found {answer!r}."
            )
        yield label, _four(file, place, [*question.split(), *word], given=1)


def _four(file: Path, place: int, words: list[str], given: int = 0) -> Question:
    if len(words) != 4:
        raise DataError(
            f"{file}, line {place}: a question needs {4 - given} words, found {len(words) - given}."
        )
    a, b, c, d = words
    return a, b, c, d


def _ordered(questions: tuple[Question, ...]) -> tuple[Question, ...]:
    halves = (half for a, b, c, d in questions for half in ((a, b), (c, d)))
    pairs = tuple(dict.fromkeys(halves))
    return tuple((*one, *other) for one in pairs for other in pairs if one != other)
