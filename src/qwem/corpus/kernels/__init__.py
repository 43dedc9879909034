"""Compiled loops over text: letters, the table of words, and the numbers of the words."""

from qwem.corpus.kernels.letters import CASED, DOTTED_CAPITAL_I, IGNORABLE
from qwem.corpus.kernels.tokens import (
    DROPPED,
    TOKENS,
    WORDS,
    renumber,
    subtract_documents,
    tokenize,
)
from qwem.corpus.kernels.word_table import COUNT, END, intern, look_up, rehash

__all__ = [
    "CASED",
    "COUNT",
    "DOTTED_CAPITAL_I",
    "DROPPED",
    "END",
    "IGNORABLE",
    "TOKENS",
    "WORDS",
    "intern",
    "look_up",
    "rehash",
    "renumber",
    "subtract_documents",
    "tokenize",
]
