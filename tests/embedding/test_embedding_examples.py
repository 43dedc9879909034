"""The examples in the docstrings of embeddings and evaluation run and are right."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "qwem.embedding.embedding",
    "qwem.embedding.formats",
    "qwem.embedding.formats.keyed_vectors",
    "qwem.embedding.vectorizer",
    "qwem.evaluation.analogies",
    "qwem.evaluation.analogy_files",
    "qwem.evaluation.benchmarks",
    "qwem.evaluation.similarity",
    "qwem.evaluation.similarity_files",
    "qwem.evaluation.suite",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed
