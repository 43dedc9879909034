"""Words and vectors: lookup, neighbours, analogies, and file formats of other programs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qwem.embedding.embedding import Embedding, Neighbours
from qwem.embedding.formats import Format, from_gensim, read_vectors, to_gensim, write_vectors

if TYPE_CHECKING:
    from qwem.embedding.vectorizer import QwemVectorizer

__all__ = [
    "Embedding",
    "Format",
    "Neighbours",
    "QwemVectorizer",
    "from_gensim",
    "read_vectors",
    "to_gensim",
    "write_vectors",
]


def __getattr__(name: str) -> Any:
    """Import the scikit-learn estimator on use, so that scikit-learn stays optional."""
    if name == "QwemVectorizer":
        return importlib.import_module("qwem.embedding.vectorizer").QwemVectorizer
    raise AttributeError(f"module 'qwem.embedding' has no attribute {name!r}")
