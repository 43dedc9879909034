"""Conversion to and from gensim's `KeyedVectors`."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal import require
from qwem.corpus import Vocabulary
from qwem.embedding.embedding import Embedding
from qwem.errors import SettingError


def to_gensim(embedding: Embedding) -> Any:
    """Return the embedding as a gensim `KeyedVectors`, with counts if they are known.

    >>> keyed = to_gensim(Embedding(["king", "queen"], [[1.0, 0.0], [1.0, 1.0]]))
    >>> keyed.index_to_key
    ['king', 'queen']
    """
    keyed = require("gensim.models", "demo").KeyedVectors(embedding.vector_size, dtype=np.float32)
    keyed.add_vectors(list(embedding.index_to_key), embedding.vectors)
    if embedding.vocabulary.counts.any():
        # The argument of add_vectors for this does not work in gensim 4.
        keyed.expandos["count"] = embedding.vocabulary.counts.copy()
    return keyed


def from_gensim(keyed: Any) -> Embedding:
    """Return a gensim `KeyedVectors` (a model's ``.wv``) as an embedding.

    >>> from gensim.models import KeyedVectors
    >>> keyed = KeyedVectors(2)
    >>> keyed.add_vectors(["king", "queen"], np.eye(2, dtype=np.float32))
    >>> from_gensim(keyed).similarity("king", "queen")
    0.0
    """
    words = list(keyed.index_to_key)
    odd = next((word for word in words if not isinstance(word, str)), None)
    if odd is not None:
        raise SettingError(
            f"The words of an embedding are strings; these KeyedVectors have the key {odd!r}."
        )
    counts = keyed.expandos.get("count", np.zeros(len(words), dtype=np.int64))
    # gensim may have more rows than words while a model is being built.
    return Embedding(Vocabulary(tuple(words), counts), keyed.vectors[: len(words)])
