"""Phrases: words that belong together, found by how often they follow each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import id_dtype
from qwem._internal.files import require_disk
from qwem._internal.resources import progress
from qwem._internal.settings import require_choice, require_whole
from qwem.corpus import kernels
from qwem.corpus._encoding import write_tokens
from qwem.corpus._token_stream import (
    DELIMITER,
    count_following,
    join_pairs,
    renumbered,
    stream_of,
)
from qwem.corpus.corpus import Corpus
from qwem.corpus.reading import Reading
from qwem.corpus.vocabulary import Vocabulary, choose_words
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus._files import PathLike
    from qwem.corpus._token_stream import TokenStream

Scoring = Literal["npmi", "pmi", "log_likelihood", "gensim"]
THRESHOLDS: dict[str, float] = {"npmi": 0.5, "pmi": 7.0, "log_likelihood": 1000.0, "gensim": 10.0}
"""The score that a pair must exceed by default."""
USUAL_PASSES = 2
"""The number of passes for ``phrases=True``."""

KIND = "phrases"
_ARRAYS, _FIRSTS, _SECONDS = "phrases.safetensors", "first-words.txt", "second-words.txt"


class PairStatistics(NamedTuple):
    """How often words of a text follow each other, and how often they occur at all."""

    pairs: NDArray[np.int64]
    """The numbers of the two words, one pair per row."""
    counts: NDArray[np.int64]
    """How often each pair occurs."""
    word_counts: NDArray[np.int64]
    """How often each word occurs."""
    total: int
    """The number of words in the text."""
    kinds: int
    """The number of different words and pairs in the text."""

    def chosen(
        self, scoring: Scoring, threshold: float, min_count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the pairs whose score exceeds a threshold, most frequent first, and the scores."""
        score = self._score(scoring, min_count)
        chosen = np.flatnonzero(score > threshold)
        # By frequency, since the order of first occurrence would depend on the chunks.
        columns = self.pairs[chosen, 1], self.pairs[chosen, 0], -self.counts[chosen]
        chosen = chosen[np.lexsort(columns)]
        return self.pairs[chosen], score[chosen]

    def _score(self, scoring: Scoring, min_count: int) -> NDArray[np.float64]:
        counts, total = self.counts, float(self.total)
        first, second = self.word_counts[self.pairs[:, 0]], self.word_counts[self.pairs[:, 1]]
        if scoring == "gensim":
            return (counts - min_count) / first / second * float(self.kinds)
        together = counts / total
        pmi: NDArray[np.float64] = np.log(together / ((first / total) * (second / total)))
        if scoring == "pmi":
            return pmi
        if scoring == "npmi":
            return np.divide(pmi, -np.log(together), out=np.ones_like(pmi), where=together < 1)
        gain = np.zeros(len(counts))
        for rows, columns, cell in (
            (first, second, counts),
            (first, total - second, first - counts),
            (total - first, second, second - counts),
            (total - first, total - second, total - first - second + counts),
        ):
            expected = rows * (columns / total)
            ratio = np.divide(
                cell, expected, out=np.ones(len(cell)), where=(cell > 0) & (expected > 0)
            )
            gain += 2 * cell * np.log(ratio)
        return np.where(pmi > 0, gain, -gain)


@dataclass(frozen=True, eq=False, repr=False)
class Phrases:
    """Pairs of words that are joined into one, pass by pass.

    The first pass joins words, the second also the phrases of the first, and so on: after p passes
    a phrase has up to 2^p words. Within a pass pairs are joined from left to right.

    >>> from qwem import Corpus
    >>> texts = ["he moved to new york last year", "new york has a harbour", "a new year"] * 9
    >>> phrases = Phrases.learn(Corpus.from_documents(texts), threshold=0.6)
    >>> phrases.words[0], round(dict(phrases)["new_york"], 2), "a_new" in phrases.words
    ('new_york', 0.8, False)
    """

    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    scores: NDArray[np.float64]
    passes: tuple[int, ...]
    """The number of pairs of each pass."""
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def learn(
        cls,
        corpus: Corpus,
        *,
        scoring: Scoring = "npmi",
        threshold: float | None = None,
        min_count: int = 5,
        passes: int = 1,
    ) -> Phrases:
        """Find the phrases of a corpus.

        Parameters
        ----------
        corpus
            It should hold every word of the text (``min_count=1``).
        scoring
            The score of a pair of words that occur n_a and n_b times, and n times one after the
            other, in a text of N words. ``"pmi"``: log(n N/(n_a n_b)). ``"npmi"``: PMI divided by
            log(N/n), which is 1 for words that only occur together (Bouma 2009).
            ``"log_likelihood"``: Dunning's G² of the four-field table, negative where the pair is
            rarer than by chance. ``"gensim"``: the default of gensim's `Phrases`, (n − min_count)
            T/(n_a n_b) with T the number of different words and pairs (after Mikolov et al. 2013).
        threshold
            The score that a pair must exceed; by default 0.5, 7, 1,000 and 10 for NPMI, PMI, G² and
            gensim's.
        min_count
            The least number of times that a pair must occur.
        passes
            The number of passes; each treats the phrases found so far as words.
        """
        return learn(corpus, passes, scoring=scoring, threshold=threshold, min_count=min_count)[0]

    @classmethod
    def empty(
        cls,
        passes: int | bool = True,
        scoring: Scoring = "npmi",
        threshold: float | None = None,
        min_count: int = 5,
    ) -> Phrases:
        """Return no phrases, with the settings by which `extended` finds them."""
        require_choice("scoring", scoring, get_args(Scoring))
        require_whole("min_count", min_count, least=1)
        passes = USUAL_PASSES if passes is True else passes
        require_whole("passes", passes, least=1)
        least = THRESHOLDS[scoring] if threshold is None else float(threshold)
        if not np.isfinite(least):
            raise SettingError(f"threshold must be a finite number, not {threshold}.")
        settings = {
            "scoring": scoring,
            "threshold": least,
            "min_count": min_count,
            "passes": passes,
        }
        return cls((), (), np.empty(0), (), settings)

    def __len__(self) -> int:
        return len(self.firsts)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.words, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        first = " ".join(self.words[:5])
        return f"Phrases({len(self):,}: {first}{' …' if len(self) > 5 else ''})"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The phrases as they are spelled in a corpus, in the order in which they were found."""
        return tuple(map(DELIMITER.join, zip(self.firsts, self.seconds, strict=True)))

    def join(self, corpus: Corpus, directory: PathLike | None = None) -> Corpus:
        """Return a corpus in which these phrases are words; save it if `directory` is given."""
        reading = Reading(min_count=1, phrases=self, oov=corpus.settings.get("oov", "drop"))
        return corpus.write(lambda folder: encode_joined(corpus, reading, None, folder), directory)

    def extended(self, words: Sequence[str], found: PairStatistics) -> Phrases:
        """Return these phrases and those of one more pass, chosen from `found` by `settings`."""
        choice = (self.settings[name] for name in ("scoring", "threshold", "min_count"))
        pairs, scores = found.chosen(*choice)
        return replace(
            self,
            firsts=self.firsts + tuple(words[word] for word in pairs[:, 0]),
            seconds=self.seconds + tuple(words[word] for word in pairs[:, 1]),
            scores=np.concatenate([self.scores, scores]),
            passes=(*self.passes, len(pairs)),
        )

    def joined(self, stream: TokenStream, first_pass: int = 0) -> TokenStream:
        """Return a stream in which the phrases of the passes from `first_pass` on are words."""
        ends = np.cumsum((0, *self.passes))
        for start, stop in pairwise(ends[first_pass:].tolist()):
            place = {word: number for number, word in enumerate(stream.words)}
            known = [
                (place[first], place[second])
                for first, second in zip(
                    self.firsts[start:stop], self.seconds[start:stop], strict=True
                )
                if first in place and second in place
            ]
            pairs = np.array(known, dtype=np.int64).reshape(-1, 2)
            stream = join_pairs(stream, pairs)
        return stream

    def save(self, path: PathLike) -> None:
        """Write the phrases to a directory."""
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(
                directory / _ARRAYS, {"scores": self.scores, "passes": np.array(self.passes)}
            )
            artefact.write_words(directory / _FIRSTS, self.firsts)
            artefact.write_words(directory / _SECONDS, self.seconds)
            artefact.write_metadata(directory, KIND, {"settings": self.settings})

    @classmethod
    def load(cls, path: PathLike) -> Phrases:
        """Read phrases written by `save`."""

        def build(saved: artefact.Saved) -> Phrases:
            arrays = saved.arrays(_ARRAYS)
            passes = tuple(arrays["passes"].tolist())
            firsts, seconds = saved.words(_FIRSTS), saved.words(_SECONDS)
            if not len(firsts) == len(seconds) == len(arrays["scores"]) == sum(passes):
                raise ValueError("its words and scores don't match")
            return cls(firsts, seconds, arrays["scores"], passes, saved.metadata["settings"])

        return artefact.load(path, KIND, build)


def learn(
    corpus: Corpus, passes: int | bool = True, *, scoring: Scoring = "npmi",
    threshold: float | None = None, min_count: int = 5,
) -> tuple[Phrases, TokenStream]:  # fmt: skip
    """Find the phrases of a corpus; see `Phrases.learn`.

    Also returns its tokens, in which the phrases of all passes but the last are joined.
    """
    phrases = Phrases.empty(passes, scoring, threshold, min_count)
    passes = phrases.settings["passes"]
    stream = stream_of(corpus)
    with progress("phrases", passes * stream.tokens.size, "word") as bar:
        for number in range(passes):
            if number:
                stream = phrases.joined(stream, first_pass=number - 1)
            pairs, counts, different = count_following(stream, min_count)
            kinds = int(np.count_nonzero(stream.counts)) + different
            total = int(stream.counts.sum())
            found = PairStatistics(pairs, counts, stream.counts, total, kinds)
            phrases = phrases.extended(stream.words, found)
            bar.update(stream.tokens.size)
    return phrases, stream


def encode_joined(
    corpus: Corpus,
    reading: Reading,
    vocabulary: Vocabulary | None,
    folder: Path,
) -> Corpus:
    """Join the phrases of a corpus of all words, choose the vocabulary, and encode into a folder.

    The phrases are those of `reading`, or are found in the corpus.
    """
    if isinstance(reading.phrases, Phrases):
        phrases = reading.phrases
        stream = phrases.joined(stream_of(corpus))
    else:
        phrases, stream = learn(corpus, reading.phrases)
        stream = phrases.joined(stream, first_pass=len(phrases.passes) - 1)
    spelling = stream.words
    found = stream.counts.copy()
    if corpus.mask_id is not None:
        found[corpus.mask_id] = 0  # the mask is not a word
    how: dict[str, Any] = {"vocabulary": "given"}
    if vocabulary is None:
        vocabulary, min_count = choose_words(
            found,
            lambda numbers: [spelling[number] for number in numbers],
            reading,
            allow_empty=not found.any(),
        )
        how = {"vocabulary": "chosen", "min_count": min_count}
    place = {word: number for number, word in enumerate(vocabulary.words)}
    masked = reading.oov == "mask"
    others = len(vocabulary) if masked else kernels.DROPPED
    numbers = np.array([place.get(word, others) for word in spelling], dtype=np.uint32)
    counts = np.zeros(len(vocabulary) + 1, np.int64)
    np.add.at(counts, np.minimum(numbers, len(vocabulary)), found)
    vocabulary = Vocabulary(vocabulary.words, counts[:-1])
    dtype = id_dtype(len(vocabulary) + masked)

    size = dtype.itemsize * stream.tokens.size
    require_disk(size, "Joining the phrases of this text", folder.parent)
    chunks = renumbered(stream.tokens, stream.offsets, numbers, dtype)
    written = write_tokens(folder, dtype, chunks)
    settings = {name: value for name, value in corpus.settings.items() if name != "min_count"}
    settings |= {
        "vocab_size": len(vocabulary),
        **how,
        "oov": reading.oov,
        "phrases": {**phrases.settings, "found": len(phrases)},
        "words_kept": int(vocabulary.counts.sum()),
    }
    return Corpus.of_tokens(*written, vocabulary, settings, corpus.first_document, phrases)
