"""Text to `Corpus`: readers, tokenizers, the vocabulary, and the encoded store on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.lazy import lazy_names

if TYPE_CHECKING:
    from qwem.corpus.choosing import choose_words
    from qwem.corpus.columns import read_columns
    from qwem.corpus.corpus import Corpus
    from qwem.corpus.files import InputFile
    from qwem.corpus.finding import occurrences
    from qwem.corpus.phrases import Phrases
    from qwem.corpus.pieces import cut_files, encode_piece
    from qwem.corpus.reading import (
        AUTO_MIN_COUNT,
        AtMost,
        Documents,
        Errors,
        Reading,
        ReadingOptions,
    )
    from qwem.corpus.tokenizer import tokenizer_name, tokenizer_named
    from qwem.corpus.vocabulary import Vocabulary, frequency_order

__all__ = [
    "AUTO_MIN_COUNT",
    "AtMost",
    "Corpus",
    "Documents",
    "Errors",
    "InputFile",
    "Phrases",
    "Reading",
    "ReadingOptions",
    "Vocabulary",
    "choose_words",
    "cut_files",
    "encode_piece",
    "frequency_order",
    "occurrences",
    "read_columns",
    "tokenizer_name",
    "tokenizer_named",
]

# Settings alone don't need NumPy.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "choosing": ("choose_words",),
        "columns": ("read_columns",),
        "corpus": ("Corpus",),
        "files": ("InputFile",),
        "finding": ("occurrences",),
        "phrases": ("Phrases",),
        "pieces": ("cut_files", "encode_piece"),
        "reading": ("AUTO_MIN_COUNT", "AtMost", "Documents", "Errors", "Reading", "ReadingOptions"),
        "tokenizer": ("tokenizer_name", "tokenizer_named"),
        "vocabulary": ("Vocabulary", "frequency_order"),
    },
)
