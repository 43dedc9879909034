"""Words and vectors: lookup, neighbours, analogies, and file formats of other programs."""

from qwem.embedding.embedding import Embedding
from qwem.embedding.formats import from_gensim, read_vectors, to_gensim, write_hub, write_vectors
from qwem.embedding.spelling import spell

__all__ = [
    "Embedding",
    "from_gensim",
    "read_vectors",
    "spell",
    "to_gensim",
    "write_hub",
    "write_vectors",
]
