"""Accuracy of an embedding on analogy questions (the paper's appendix, Benchmarks)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from qwem._internal.checks import require_choice
from qwem._internal.results import Plain, Result
from qwem.errors import CoverageError
from qwem.evaluation.analogy_files import AnalogySet, read_analogies
from qwem.evaluation.answers import answer_questions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

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
