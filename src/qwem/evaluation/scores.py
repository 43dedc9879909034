"""Scores of an embedding on analogy questions and rated word pairs, one by one or together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from qwem._internal.results import Plain, Result
from qwem._internal.settings import require_choice
from qwem.errors import CoverageError, SettingError
from qwem.evaluation.answers import answer_questions
from qwem.evaluation.benchmarks import (
    BENCHMARKS,
    AnalogySet,
    SimilaritySet,
    available_benchmark,
    read_analogies,
    read_similarity,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

    Benchmark = str | os.PathLike[str]

Score = TypeVar("Score")
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
    correct = answers == everything[:, 3]
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


_COLUMNS = ("benchmark", "3CosAdd", "3CosMul", "Spearman", "asked", "skipped")


@dataclass(frozen=True)
class Evaluation(Result):
    """Scores of an embedding: on analogies, if any, and on each set of rated pairs.

    >>> from qwem import Embedding, evaluate
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (("sun", "light", 9), ("sun", "car", 1)))
    >>> evaluate(plane, similarity=[rated]).similarity["two"].pairs
    2
    """

    analogies: AnalogyResult | None
    similarity: Mapping[str, SimilarityResult]

    def __bool__(self) -> bool:
        """Return whether there is any score."""
        return self.analogies is not None or bool(self.similarity)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each score: analogies, all and by category, then sets of rated pairs."""
        rows = [
            {"benchmark": f"analogies, {row.pop('analogies')}", "Spearman": None, **row}
            for row in ([] if self.analogies is None else self.analogies.rows())
        ]
        for name, rated in self.similarity.items():
            scores = {"3CosAdd": None, "3CosMul": None, "Spearman": rated.spearman}
            rows.append(
                {"benchmark": name, **scores, "asked": rated.pairs, "skipped": rated.skipped}
            )
        columns = [name for name in _COLUMNS if any(row[name] is not None for row in rows)]
        return [{name: row[name] for name in columns} for row in rows]


def evaluate(
    embedding: Embedding,
    analogies: AnalogySet | Benchmark | None = None,
    similarity: Iterable[SimilaritySet | Benchmark] = (),
    *,
    method: Formula = "cosine",
    pairs: Pairs = "file",
    measure: Measure = "cosine",
) -> Evaluation:
    """Evaluate an embedding on analogies and on any number of sets of rated pairs.

    Parameters
    ----------
    embedding
        The embedding to evaluate.
    analogies, similarity
        Sets, or files or benchmarks that `read_analogies` and `read_similarity` read. A set of
        rated pairs has the name of its file.
    method, pairs
        As in `evaluate_analogies`.
    measure
        As in `evaluate_similarity`.

    >>> from qwem.embedding import Embedding
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (("sun", "light", 9), ("sun", "car", 1)))
    >>> print(evaluate(plane, similarity=[rated]).to_text(), end="")
    benchmark  Spearman  asked  skipped
    two        1         2      0
    """
    sets = [one if isinstance(one, SimilaritySet) else read_similarity(one) for one in similarity]
    names = [one.name for one in sets]
    if len(set(names)) < len(names):
        raise SettingError(
            f"Two sets of rated pairs have the same name ({', '.join(names)}); rename one."
        )
    answered = None
    if analogies is not None:
        answered = evaluate_analogies(embedding, analogies, method=method, pairs=pairs)
    scored = {one.name: evaluate_similarity(embedding, one, measure=measure) for one in sets}
    return Evaluation(answered, scored)


_ENGLISH = frozenset(("the", "of", "and", "to", "in", "is", "was", "for", "that", "with"))
_FOREIGN = frozenset(
    ["der", "und", "das", "ist", "les", "et", "des", "est", "que", "los", "por", "che", "di", "non",
     "het", "een", "och", "att", "nie", "jest", "não", "uma", "og", "ve", "bir", "и", "не", "на",
     "的", "の", "は"]
)  # fmt: skip


def is_english(embedding: Embedding) -> bool:
    """Return whether frequent words include at least as many English as foreign function words.

    So text without stop words counts as English.
    """
    frequent = set(embedding.index_to_key[:200])
    return len(frequent & _ENGLISH) >= len(frequent & _FOREIGN)


def evaluate_available(
    embedding: Embedding,
    analogies: Benchmark | None = "google",
    similarity: Iterable[Benchmark] = ("wordsim353", "simlex999", "men"),
) -> Evaluation:
    """Evaluate an embedding on those benchmarks that are on this machine, without the network.

    A benchmark that is given by name is left out if its file is absent, if the embedding has too
    few of its words, or if the text is not English. A damaged file is an error. So is a path
    without a file, or to a benchmark with too few known words.

    >>> from qwem.embedding import Embedding
    >>> evaluate_available(Embedding(["ein", "wort"], [[1.0], [2.0]])).to_dict()
    {'analogies': None, 'similarity': {}}
    """
    english = is_english(embedding)

    def score(benchmark: Benchmark, by: Callable[[Embedding, Path], Score]) -> Score | None:
        by_name = str(benchmark) in BENCHMARKS
        if by_name and not english:
            return None
        file = available_benchmark(benchmark)
        try:
            return None if file is None else by(embedding, file)
        except CoverageError:
            if not by_name:
                raise
            return None

    answered = None if analogies is None else score(analogies, evaluate_analogies)
    rated = [score(each, evaluate_similarity) for each in similarity]
    return Evaluation(answered, {one.name: one for one in rated if one is not None})
