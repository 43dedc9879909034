"""Text to `Corpus`: readers, tokenizers, the vocabulary, and the encoded store on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.imports import lazy_names

if TYPE_CHECKING:
    from qwem.corpus.choosing import choose_words, min_count_of
    from qwem.corpus.columns import read_columns
    from qwem.corpus.corpus import Corpus
    from qwem.corpus.encoded_piece import EncodedPiece, join_piece
    from qwem.corpus.files import InputFile
    from qwem.corpus.finding import occurrences
    from qwem.corpus.phrases import PairStatistics, Phrases, following_pairs, no_phrases
    from qwem.corpus.pieces import cut_files, encode_piece
    from qwem.corpus.reading import (
        AUTO_MIN_COUNT,
        AtMost,
        Documents,
        Errors,
        Reading,
    )
    from qwem.corpus.recoding import RecodedPieces, recode
    from qwem.corpus.tokenizer import tokenizer_name, tokenizer_named
    from qwem.corpus.vocabulary import Vocabulary, frequency_order

__all__ = [
    "AUTO_MIN_COUNT",
    "AtMost",
    "Corpus",
    "Documents",
    "EncodedPiece",
    "Errors",
    "InputFile",
    "PairStatistics",
    "Phrases",
    "Reading",
    "RecodedPieces",
    "Vocabulary",
    "choose_words",
    "cut_files",
    "encode_piece",
    "following_pairs",
    "frequency_order",
    "join_piece",
    "min_count_of",
    "no_phrases",
    "occurrences",
    "read_columns",
    "recode",
    "tokenizer_name",
    "tokenizer_named",
]

# Settings alone don't need NumPy.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "choosing": ("choose_words", "min_count_of"),
        "columns": ("read_columns",),
        "corpus": ("Corpus",),
        "encoded_piece": ("EncodedPiece", "join_piece"),
        "files": ("InputFile",),
        "finding": ("occurrences",),
        "phrases": ("PairStatistics", "Phrases", "following_pairs", "no_phrases"),
        "pieces": ("cut_files", "encode_piece"),
        "recoding": ("RecodedPieces", "recode"),
        "reading": ("AUTO_MIN_COUNT", "AtMost", "Documents", "Errors", "Reading"),
        "tokenizer": ("tokenizer_name", "tokenizer_named"),
        "vocabulary": ("Vocabulary", "frequency_order"),
    },
)
