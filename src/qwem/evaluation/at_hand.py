"""Evaluation on those benchmarks that can be had, for pages and demos that must not insist."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from qwem.errors import DataError
from qwem.evaluation.analogies import evaluate_analogies
from qwem.evaluation.benchmarks import BENCHMARKS, benchmark_file
from qwem.evaluation.similarity import evaluate_similarity
from qwem.evaluation.similarity_files import read_similarity
from qwem.evaluation.suite import Evaluation

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from qwem.embedding import Embedding
    from qwem.evaluation.similarity import SimilarityResult

    Benchmark = str | os.PathLike[str]

Result = TypeVar("Result")


def evaluate_at_hand(
    embedding: Embedding,
    analogies: Benchmark | None = "google",
    similarity: Iterable[Benchmark] = ("wordsim353", "simlex999", "men"),
) -> Evaluation:
    """Evaluate on benchmarks known by name, leaving out those that `where_at_hand` does.

    >>> from qwem.embedding import Embedding
    >>> evaluate_at_hand(Embedding(["ein", "wort"], [[1.0], [2.0]])).to_dict()
    {}
    """

    def rated(file: Path) -> tuple[str, SimilarityResult]:
        pairs = read_similarity(file)
        return pairs.name, evaluate_similarity(embedding, pairs)

    answered = None
    if analogies is not None:
        answered = where_at_hand(analogies, lambda file: evaluate_analogies(embedding, file))
    found = (where_at_hand(name, rated) for name in similarity)
    return Evaluation(answered, dict(named for named in found if named is not None))


def where_at_hand(name: Benchmark, use: Callable[[Path], Result]) -> Result | None:
    """Return `use` of a benchmark's file, or None where it isn't here or asks of other words.

    That is for benchmarks known by name, and the network is not asked. A file that was named itself
    must be there and fit.

    >>> where_at_hand("google", lambda file: file.name)
    'questions-words.txt'
    """
    try:
        return use(benchmark_file(name, fetch=False))
    except DataError:
        if str(name) in BENCHMARKS:
            return None
        raise
