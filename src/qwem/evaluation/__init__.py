"""Benchmarks of embeddings: analogy questions and rated word pairs."""

from qwem.evaluation.benchmarks import read_analogies, read_similarity
from qwem.evaluation.scores import Evaluation, evaluate, evaluate_analogies, evaluate_similarity

__all__ = [
    "Evaluation",
    "evaluate",
    "evaluate_analogies",
    "evaluate_similarity",
    "read_analogies",
    "read_similarity",
]
