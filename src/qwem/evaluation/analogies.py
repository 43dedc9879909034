"""Analogy questions: their file formats, and the accuracy of an embedding on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from qwem._internal.files import read_lines
from qwem._internal.results import Plain, Result
from qwem._internal.settings import require_choice
from qwem.errors import CoverageError, DataError
from qwem.evaluation.answers import answer_questions
from qwem.evaluation.benchmarks import benchmark_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

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


Formula = Literal["cosine", "candidate"]
Pairs = Literal["file", "all"]

# Categories of grammar: Google's (gram1-adjective-to-adverb) and MSR's (JJ_JJR, NN_NNPOS).
_SYNTACTIC = re.compile(r"gram\d|(JJ|NN|VB)[A-Z]*_(JJ|NN|VB)[A-Z]*$")


@dataclass(frozen=True)
class AnalogyScore(Plain):
    """Numbers of correct answers, of questions asked, and of questions skipped."""

    derived: ClassVar[tuple[str, ...]] = ("accuracy", "accuracy_mul", "coverage")
    correct: int
    """Correct answers by 3CosAdd, the paper's formula."""
    correct_mul: int
    """Correct answers by 3CosMul."""
    questions: int
    """Questions whose four words the embedding has."""
    skipped: int
    """Questions with a word that the embedding does not have."""

    @property
    def accuracy(self) -> float:
        """The fraction of the questions asked that 3CosAdd answers correctly; NaN without any."""
        return self.correct / self.questions if self.questions else float("nan")

    @property
    def accuracy_mul(self) -> float:
        """The fraction of the questions asked that 3CosMul answers correctly; NaN without any."""
        return self.correct_mul / self.questions if self.questions else float("nan")

    @property
    def coverage(self) -> float:
        """The fraction of all questions that were asked; NaN without any."""
        total = self.questions + self.skipped
        return self.questions / total if total else float("nan")


@dataclass(frozen=True)
class AnalogyResult(AnalogyScore, Result):
    """The score on all questions, and on those of each category."""

    derived: ClassVar[tuple[str, ...]] = (*AnalogyScore.derived, "totals")
    by_category: Mapping[str, AnalogyScore]

    @property
    def totals(self) -> dict[str, AnalogyScore]:
        """The scores on all semantic and on all syntactic categories, if there are both.

        Syntactic categories are recognized by their names in Google's and in MSR's sets.
        """
        groups: dict[str, list[AnalogyScore]] = {"semantic": [], "syntactic": []}
        for name, score in self.by_category.items():
            groups["syntactic" if _SYNTACTIC.match(name) else "semantic"].append(score)
        return (
            {name: _total(group) for name, group in groups.items()} if all(groups.values()) else {}
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for all questions, for both totals, and for each category."""
        scores = {"all": self, **self.totals, **self.by_category}
        return [
            {
                "analogies": name,
                "3CosAdd": score.accuracy,
                "3CosMul": score.accuracy_mul,
                "asked": score.questions,
                "skipped": score.skipped,
            }
            for name, score in scores.items()
            if score.questions
        ]


def evaluate_analogies(
    embedding: Embedding,
    questions: AnalogySet | str | os.PathLike[str],
    *,
    method: Formula = "cosine",
    pairs: Pairs = "file",
) -> AnalogyResult:
    """Ask an embedding analogy questions, and count the correct answers.

    Every question is answered by 3CosAdd and by 3CosMul (Levy and Goldberg 2014). A question with a
    word that the embedding does not have is skipped. The three words of a question can't answer it,
    nor can a word whose vector is zero. Of equally good answers, the first word of the embedding
    is taken.

    Parameters
    ----------
    embedding
        The embedding to evaluate.
    questions
        An `AnalogySet`, or a file or benchmark that `read_analogies` reads.
    method
        The formula of 3CosAdd: ``cosine``, the paper's argmax ŵ·(â′ + b̂ − â), or ``candidate``,
        argmax ŵ·(a′ + b − a), which normalizes only the candidate.
    pairs
        ``file`` asks the questions in the file. ``all`` asks every ordered pair of the distinct
        word pairs of each category, as the paper's reference implementation does.

    >>> from qwem.embedding import Embedding
    >>> words = ["man", "woman", "king", "queen"]
    >>> space = Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]])
    >>> evaluate_analogies(space, AnalogySet("one", {"family": (tuple(words),)})).accuracy
    1.0
    """
    require_choice("method", method, get_args(Formula))
    require_choice("pairs", pairs, get_args(Pairs))
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
    answers = answer_questions(embedding, everything[:, :3], normalize=method == "cosine")
    correct = np.stack(answers) == everything[:, 3]
    ends = np.cumsum([len(found) for found in rows.values()])
    by_category = {}
    for name, part in zip(rows, np.split(correct, ends[:-1], axis=1), strict=True):
        by_sum, by_product = part.sum(axis=1).tolist()
        skipped = len(asked.categories[name]) - part.shape[1]
        by_category[name] = AnalogyScore(by_sum, by_product, part.shape[1], skipped)
    return AnalogyResult(**vars(_total(by_category.values())), by_category=by_category)


def _known_rows(
    embedding: Embedding, questions: tuple[tuple[str, str, str, str], ...]
) -> NDArray[np.int64]:
    """Return one line per question whose four words are known: their rows in the embedding."""
    index = embedding.key_to_index
    known = [
        [index[word] for word in question]
        for question in questions
        if all(word in index for word in question)
    ]
    return np.array(known, dtype=np.int64).reshape(-1, 4)


def _total(scores: Iterable[AnalogyScore]) -> AnalogyScore:
    numbers = [(s.correct, s.correct_mul, s.questions, s.skipped) for s in scores]
    return AnalogyScore(*map(sum, zip(*numbers, strict=True)))
