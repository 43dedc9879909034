"""Benchmarks of embeddings: analogy questions and rated word pairs."""

from qwem.evaluation.analogies import evaluate_analogies, read_analogies
from qwem.evaluation.similarity import evaluate_similarity, read_similarity
from qwem.evaluation.suite import Evaluation, evaluate

__all__ = [
    "Evaluation",
    "evaluate",
    "evaluate_analogies",
    "evaluate_similarity",
    "read_analogies",
    "read_similarity",
]
