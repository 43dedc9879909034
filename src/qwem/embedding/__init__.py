"""Words and vectors: lookup, neighbours, analogies, and file formats of other programs."""

from qwem.embedding.embedding import Embedding, Neighbours
from qwem.embedding.formats import (
    Format,
    format_of,
    from_gensim,
    read_vectors,
    to_gensim,
    write_hub,
    write_vectors,
)
from qwem.embedding.sif import sif_weights
from qwem.embedding.spelling import Spelling, spell
from qwem.embedding.storage import StoredType

__all__ = [
    "Embedding",
    "Format",
    "Neighbours",
    "Spelling",
    "StoredType",
    "format_of",
    "from_gensim",
    "read_vectors",
    "sif_weights",
    "spell",
    "to_gensim",
    "write_hub",
    "write_vectors",
]
