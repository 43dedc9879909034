"""Text to `Corpus`: readers, tokenizers, the vocabulary, and the encoded store on disk."""

from qwem.corpus.corpus import Corpus
from qwem.corpus.tokenizer import tokenizer_name
from qwem.corpus.vocabulary import Vocabulary, frequency_order

__all__ = ["Corpus", "Vocabulary", "frequency_order", "tokenizer_name"]
