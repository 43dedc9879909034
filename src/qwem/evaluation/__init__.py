"""Benchmarks of embeddings: analogy questions and rated word pairs."""

from qwem.evaluation.analogies import AnalogySet, evaluate_analogies, read_analogies
from qwem.evaluation.similarity import SimilaritySet, evaluate_similarity, read_similarity
from qwem.evaluation.suite import Evaluation, evaluate

__all__ = [
    "AnalogySet",
    "Evaluation",
    "SimilaritySet",
    "evaluate",
    "evaluate_analogies",
    "evaluate_similarity",
    "read_analogies",
    "read_similarity",
]
