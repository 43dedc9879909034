"""Words and vectors: lookup, neighbours, analogies, and file formats of other programs."""

from typing import TYPE_CHECKING

from qwem._internal.resources import lazy_names
from qwem.embedding.embedding import Embedding

if TYPE_CHECKING:
    from qwem.embedding.formats import read_vectors, write_vectors
    from qwem.embedding.neighbours import NeighbourIndex
    from qwem.embedding.spelling import spell
    from qwem.embedding.texts import write_hub

__all__ = [
    "Embedding",
    "NeighbourIndex",
    "read_vectors",
    "spell",
    "write_hub",
    "write_vectors",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "formats": ("read_vectors", "write_vectors"),
        "neighbours": ("NeighbourIndex",),
        "spelling": ("spell",),
        "texts": ("write_hub",),
    },
)
