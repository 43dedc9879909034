"""Benchmarks of embeddings: analogy questions and rated word pairs."""

from qwem.evaluation.analogies import AnalogyResult, AnalogyScore, evaluate_analogies
from qwem.evaluation.analogy_files import AnalogySet, read_analogies
from qwem.evaluation.benchmarks import BENCHMARKS, available_benchmark, benchmark_file
from qwem.evaluation.similarity import SimilarityResult, evaluate_similarity
from qwem.evaluation.similarity_files import RatedPair, SimilaritySet, read_similarity
from qwem.evaluation.suite import Evaluation, evaluate, evaluate_available

__all__ = [
    "BENCHMARKS",
    "AnalogyResult",
    "AnalogyScore",
    "AnalogySet",
    "Evaluation",
    "RatedPair",
    "SimilarityResult",
    "SimilaritySet",
    "available_benchmark",
    "benchmark_file",
    "evaluate",
    "evaluate_analogies",
    "evaluate_available",
    "evaluate_similarity",
    "read_analogies",
    "read_similarity",
]
