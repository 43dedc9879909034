"""Several benchmarks in one call, with one name for each number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qwem.errors import SettingError
from qwem.evaluation.analogies import AnalogyResult, Method, Pairs, evaluate_analogies
from qwem.evaluation.similarity import Measure, SimilarityResult, evaluate_similarity
from qwem.evaluation.similarity_files import SimilaritySet, read_similarity

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from qwem.embedding import Embedding
    from qwem.evaluation.analogy_files import AnalogySet


@dataclass(frozen=True)
class Evaluation:
    """What an embedding scored: on analogies, if asked, and on each named set of rated pairs."""

    analogies: AnalogyResult | None
    similarity: Mapping[str, SimilarityResult]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: ``analogies.accuracy``, ``similarity.<name>.spearman``."""
        scores: dict[str, Any] = {}
        if self.analogies is not None:
            scores["analogies"] = self.analogies.to_dict()
        if self.similarity:
            scores["similarity"] = {name: one.to_dict() for name, one in self.similarity.items()}
        return scores


def evaluate(
    embedding: Embedding,
    analogies: AnalogySet | str | os.PathLike[str] | None = None,
    similarity: Iterable[SimilaritySet | str | os.PathLike[str]] = (),
    *,
    method: Method = "cosine",
    pairs: Pairs = "file",
    measure: Measure = "cosine",
) -> Evaluation:
    """Evaluate an embedding on analogies and on any number of sets of rated pairs.

    Parameters
    ----------
    embedding
        What is to be evaluated.
    analogies, similarity
        Sets, or files or benchmarks that `read_analogies` and `read_similarity` read. A set of
        rated pairs has the name of its file.
    method, pairs
        As in `evaluate_analogies`.
    measure
        As in `evaluate_similarity`.

    >>> from qwem.embedding import Embedding
    >>> from qwem.evaluation import RatedPair
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (RatedPair("sun", "light", 9), RatedPair("sun", "car", 1)))
    >>> evaluate(plane, similarity=[rated]).to_dict()
    {'similarity': {'two': {'spearman': 1.0, 'pairs': 2, 'skipped': 0}}}
    """
    sets = [one if isinstance(one, SimilaritySet) else read_similarity(one) for one in similarity]
    names = [one.name for one in sets]
    if len(set(names)) < len(names):
        raise SettingError(
            f"Two sets of rated pairs have one name ({', '.join(names)}); rename one."
        )
    answered = None
    if analogies is not None:
        answered = evaluate_analogies(embedding, analogies, method=method, pairs=pairs)
    scored = {one.name: evaluate_similarity(embedding, one, measure=measure) for one in sets}
    return Evaluation(answered, scored)
