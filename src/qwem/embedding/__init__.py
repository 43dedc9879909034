"""Words and vectors: lookup, neighbours, analogies, and file formats of other programs."""

from qwem.embedding.embedding import Embedding, Neighbours
from qwem.embedding.formats import (
    Format,
    from_gensim,
    read_vectors,
    to_gensim,
    write_hub,
    write_vectors,
)
from qwem.embedding.sif import sif_weights
from qwem.embedding.storage import StoredType

__all__ = [
    "Embedding",
    "Format",
    "Neighbours",
    "StoredType",
    "from_gensim",
    "read_vectors",
    "sif_weights",
    "to_gensim",
    "write_hub",
    "write_vectors",
]
