"""What an update of a model needs: its counts, and how they were made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from qwem._internal import artefact
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Vocabulary

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem.corpus import Corpus

    Digests: TypeAlias = NDArray[np.uint64]

KIND = "update state"
_ARRAYS, _WORDS, _WAITING, _COUNTS = "state.safetensors", "words.txt", "waiting.txt", "counts"

REMOVED = np.uint64(0)
"""What stands in place of the digest of a document that was taken away."""


@dataclass(frozen=True, eq=False)
class UpdateState:
    """The counts of a model's text, and what is needed to count more text in the same way."""

    counts: Cooccurrence
    words: Vocabulary = field(repr=False)
    """All words that were counted, those of the first text and then others as they entered, with
    the counts by which frequent ones are thinned out: those of the first text."""
    waiting: Vocabulary = field(repr=False)
    """Words that occurred in later texts, but not often enough yet."""
    documents: Digests = field(repr=False)
    """A digest of each document, in the order in which they were counted: of the words that were
    counted in the first text, and of all words in later texts."""
    batches: NDArray[np.int64] = field(repr=False)
    """One row for each text that was counted: the number of its first document, where thinning
    starts, and how many of the words were known then."""
    enters_at: int = 1
    """How often a new word must occur in later texts before it is counted."""
    oov: Literal["drop", "mask"] = "drop"
    """What becomes of other words: see `qwem.corpus.reading.Reading`."""
    first_is_whole: bool = False
    """Whether the first text is known to have lost none of its words."""

    @classmethod
    def of(
        cls, counts: Cooccurrence, words: Vocabulary, corpus: Corpus | None, least: int
    ) -> UpdateState:
        """Return the state after a first text."""
        documents = np.empty(0, np.uint64)
        batches = np.array([[0 if corpus is None else corpus.first_document, len(words)]])
        oov: Literal["drop", "mask"] = "drop"
        if corpus is not None and corpus.mask_id is not None:
            oov = "mask"
        state = cls(counts, words, no_words(), documents, batches, least, oov)
        if corpus is None:
            return state
        whole = oov == "drop" and corpus.settings.get("words_read") == corpus.tokens.size
        return replace(state, documents=digests_of(corpus), first_is_whole=whole)

    def words_of_batch(self, batch: int) -> Vocabulary:
        """Return the words that a text was counted with."""
        return self.words.restrict(int(self.batches[batch, 1]))

    def first_digests_of(self, corpus: Corpus) -> Digests:
        """Return a digest of each document's words, as far as the first text had them.

        The words that the first text dropped are not known, so they can't be compared.
        """
        if self.first_is_whole:
            return digests_of(corpus)
        return digests_of(corpus.recode(self.words_of_batch(0), oov=self.oov))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a directory."""
        with artefact.writing(path, KIND) as directory:
            self.counts.save(directory / _COUNTS)
            arrays = {
                "words": self.words.counts,
                "waiting": self.waiting.counts,
                "documents": self.documents,
                "batches": self.batches,
            }
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_words(directory / _WORDS, self.words.words)
            artefact.write_words(directory / _WAITING, self.waiting.words)
            facts = {
                "enters_at": self.enters_at,
                "oov": self.oov,
                "first_is_whole": self.first_is_whole,
            }
            artefact.write_metadata(directory, KIND, facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> UpdateState:
        """Read what `save` wrote."""

        def build(saved: artefact.Saved) -> UpdateState:
            arrays = saved.arrays(_ARRAYS)
            artefact.require_shapes(arrays, documents="d", batches="b2")
            return cls(
                Cooccurrence.load(saved.child(_COUNTS)),
                Vocabulary(saved.words(_WORDS), arrays["words"]),
                Vocabulary(saved.words(_WAITING), arrays["waiting"]),
                arrays["documents"],
                arrays["batches"],
                saved.metadata["enters_at"],
                saved.metadata["oov"],
                saved.metadata["first_is_whole"],
            )

        return artefact.load(path, KIND, build)


def digests_of(corpus: Corpus) -> Digests:
    """Return a digest of each document's words, which does not depend on their ids."""
    words = [*corpus.vocabulary.words, ""]  # the mask is no word
    by_id = np.frombuffer(b"".join(map(_digest, map(_encoded, words))), np.uint64)
    digests = b"".join(
        _digest(by_id[corpus.tokens[begin:end]].tobytes())
        for begin, end in pairwise(corpus.offsets.tolist())
    )
    return np.maximum(np.frombuffer(digests, np.uint64), 1)


def _encoded(word: str) -> bytes:
    return word.encode(errors="surrogatepass")


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def no_words() -> Vocabulary:
    """Return a vocabulary of no words."""
    return Vocabulary((), np.empty(0, np.int64))
