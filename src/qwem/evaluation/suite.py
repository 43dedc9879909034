"""Several benchmarks in one call, with one name for each score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qwem._internal.results import Result
from qwem.errors import CoverageError, SettingError
from qwem.evaluation.analogies import (
    AnalogyResult,
    Formula,
    Pairs,
    evaluate_analogies,
)
from qwem.evaluation.benchmarks import BENCHMARKS, available_benchmark
from qwem.evaluation.similarity import (
    Measure,
    SimilarityResult,
    SimilaritySet,
    evaluate_similarity,
    read_similarity,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from qwem.embedding import Embedding
    from qwem.evaluation.analogies import AnalogySet

    Benchmark = str | os.PathLike[str]

_COLUMNS = ("benchmark", "3CosAdd", "3CosMul", "Spearman", "asked", "skipped")


@dataclass(frozen=True)
class Evaluation(Result):
    """Scores of an embedding: on analogies, if asked, and on each named set of rated pairs.

    >>> from qwem import Embedding, evaluate
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (("sun", "light", 9), ("sun", "car", 1)))
    >>> evaluate(plane, similarity=[rated]).similarity["two"].pairs
    2
    """

    analogies: AnalogyResult | None
    similarity: Mapping[str, SimilarityResult]

    def __bool__(self) -> bool:
        """Say whether there is any score."""
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


def evaluate_available(
    embedding: Embedding,
    analogies: Benchmark | None = "google",
    similarity: Iterable[Benchmark] = ("wordsim353", "simlex999", "men"),
) -> Evaluation:
    """Evaluate an embedding on those benchmarks that are on this machine, without the network.

    A benchmark that was given by name is left out if its file is absent, or if it asks about words
    that the embedding does not have. A damaged file is an error, and so is a path that leads to no
    file or to other words.

    >>> from qwem.embedding import Embedding
    >>> evaluate_available(Embedding(["ein", "wort"], [[1.0], [2.0]])).to_dict()
    {'analogies': None, 'similarity': {}}
    """
    answered = None
    if analogies is not None and (file := available_benchmark(analogies)) is not None:
        try:
            answered = evaluate_analogies(embedding, file)
        except CoverageError:
            if str(analogies) not in BENCHMARKS:
                raise
    scored = {}
    for name in similarity:
        if (file := available_benchmark(name)) is None:
            continue
        rated = read_similarity(file)
        try:
            scored[rated.name] = evaluate_similarity(embedding, rated)
        except CoverageError:
            if str(name) not in BENCHMARKS:
                raise
    return Evaluation(answered, scored)
