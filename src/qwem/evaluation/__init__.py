"""Benchmarks of embeddings: analogy questions and rated word pairs."""

from qwem.evaluation.analogies import evaluate_analogies
from qwem.evaluation.analogy_files import AnalogySet, read_analogies
from qwem.evaluation.similarity import evaluate_similarity
from qwem.evaluation.similarity_files import SimilaritySet, read_similarity
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
