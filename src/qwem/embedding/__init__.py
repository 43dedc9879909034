"""Words and vectors: lookup, neighbours, analogies, and file formats of other programs."""

from qwem.embedding.embedding import Embedding, Neighbours
from qwem.embedding.formats import Format, from_gensim, read_vectors, to_gensim, write_vectors

__all__ = [
    "Embedding",
    "Format",
    "Neighbours",
    "from_gensim",
    "read_vectors",
    "to_gensim",
    "write_vectors",
]
