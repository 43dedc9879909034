"""Embedding a word or phrase that was not there, from texts that it occurs in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.results import Result, as_plain
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus, Vocabulary, occurrences
from qwem.errors import CorpusError, SettingError
from qwem.model.thinning import thinning_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.model.model import Model
    from qwem.model.settings import Settings


@dataclass(frozen=True, eq=False)
class NewWord(Result):
    """The vector of a word or phrase that a model did not have, and how sure it is."""

    word: str
    vector: NDArray[np.float32] = field(repr=False)
    covariance: NDArray[np.float64] = field(repr=False)
    """How the vector would vary with other texts of the same kind."""
    occurrences: int
    """How often the word was found."""
    embedding: Embedding = field(repr=False)
    """The words of the model."""

    def similarity(self, word: str) -> tuple[float, float]:
        """Return the cosine with a word of the model, and its standard error."""
        other = self.embedding.get_vector(word).astype(np.float64)
        own = self.vector.astype(np.float64)
        lengths = np.linalg.norm(own), np.linalg.norm(other)
        if not all(lengths):
            return 0.0, 0.0
        own, other = own / lengths[0], other / lengths[1]
        cosine = float(own @ other)
        slope = (other - cosine * own) / lengths[0]
        return cosine, float(np.sqrt(max(float(slope @ self.covariance @ slope), 0.0)))

    def most_similar(self, topn: int = 10) -> list[tuple[str, float, float]]:
        """Return the nearest words of the model, their cosines and the standard errors of these."""
        found = self.embedding.most_similar(self.vector, topn=topn)
        return [(word, *self.similarity(word)) for word, _ in found]

    def heading(self) -> str:
        """Return how often the word was found."""
        often = "once" if self.occurrences == 1 else f"{self.occurrences:,} times"
        return f"{self.word}: found {often}.\n"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each of the ten nearest words of the model."""
        names = ("word", "similarity", "error")
        return [dict(zip(names, near, strict=True)) for near in self.most_similar()]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the vector and the nearest words."""
        return {
            "word": self.word,
            "occurrences": self.occurrences,
            "vector": as_plain(self.vector),
            "neighbours": self.rows(),
        }


def embed(
    model: Model, word: str, contexts: Any, reading: Settings, draws: int, threads: int | None
) -> NewWord:
    """Return the vector of a word from its contexts, read in this way; see `Model.embed`."""
    from qwem.model.fitting import read

    corpus = contexts if isinstance(contexts, Corpus) else read(contexts, reading, threads)
    parts = Corpus.from_documents([word], tokenizer=reading.tokenizer, min_count=1)
    if model.phrases is not None:
        parts = model.phrases.join(parts)
        corpus = corpus if corpus.phrases is not None else model.phrases.join(corpus)
    pattern = [parts.vocabulary.words[token] for token in parts.tokens]
    places = occurrences(corpus, pattern)
    if not places.size:
        raise CorpusError(
            f"{word!r} does not occur in the contexts; give texts in which it does, or check its "
            "spelling."
        )
    counts = _row(model, corpus, places, len(pattern), draws, threads)
    rows = model.embed_rows(counts / draws)
    return NewWord(
        word, rows.vectors[0], rows.covariances[0].astype(np.float64), len(places), model.wv
    )


def _row(
    model: Model,
    corpus: Corpus,
    places: NDArray[np.int64],
    length: int,
    draws: int,
    threads: int | None,
) -> NDArray[np.int64]:
    """Return how often the words of the model stand around some places, over all draws.

    The documents that have any are encoded with the model's words and one more, which takes the
    place of the `length` words that begin at each place, and counted as the model's text was.
    """
    settings = model.spectrum.target_settings
    if settings.get("weights") is None:
        raise SettingError(
            "This model was made of counts whose windows are not known, so contexts can't be "
            "counted; count them yourself and use embed_rows."
        )
    words, size = corpus.vocabulary.words, len(model.vocabulary)
    masked = model.settings.get("oov") == "mask"
    others = size + 1 if masked else -1
    number = np.array([others if (i := model.vocabulary.get(w)) is None else i for w in words])
    chosen = np.unique(np.searchsorted(corpus.offsets, places, side="right") - 1)
    starts, stops = corpus.offsets[chosen], corpus.offsets[chosen + 1]
    kept = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
    tokens = np.full(corpus.tokens.size, -1, np.int64)
    tokens[kept] = np.append(number, others)[corpus.tokens[kept]]
    tokens[(places[:, None] + np.arange(length)).ravel()] = -1
    tokens[places] = size
    stream = tokens[kept]
    present = np.concatenate(([0], np.cumsum(stream >= 0)))
    subsample, frequency = thinning_of(model.vocabulary, settings["sources"])
    new = Vocabulary((*model.vocabulary.words, "\n"), np.append(frequency, 1))
    small = Corpus(
        stream[stream >= 0].astype(np.uint32),
        present[np.concatenate(([0], np.cumsum(stops - starts)))],
        new,
        {"oov": "mask" if masked else "drop"},
    )
    counts = Cooccurrence.count(
        small,
        len(settings["weights"]),
        settings["weights"],
        subsample=subsample,
        draws=draws if subsample else 1,
        threads=threads,
    )
    row = counts.pair_counts.tocsr()[[size]].toarray()[0, :size].astype(np.int64)
    return row if subsample else row * draws
