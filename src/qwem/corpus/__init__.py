"""From text to `Corpus`: readers, tokenizers, the vocabulary, and the encoded text on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.resources import lazy_names

if TYPE_CHECKING:
    from qwem.corpus._tables import read_columns
    from qwem.corpus.corpus import Corpus
    from qwem.corpus.phrases import Phrases
    from qwem.corpus.vocabulary import Vocabulary

__all__ = ["Corpus", "Phrases", "Vocabulary", "read_columns"]

# Lazy, so that the settings can be imported without NumPy.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_tables": ("read_columns",),
        "corpus": ("Corpus",),
        "phrases": ("Phrases",),
        "vocabulary": ("Vocabulary",),
    },
)
