"""Phrases of text in shards: pairs of words counted in each shard, added up, and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import threads
from qwem.cluster._results import add_up, key_of, once
from qwem.cluster._tasks import run_all
from qwem.cluster._words import merge_words, save_words, totals_of, words_of
from qwem.corpus import Corpus, Phrases
from qwem.corpus._token_stream import count_following, stream_of
from qwem.corpus.phrases import PairStatistics
from qwem.corpus.vocabulary import frequency_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BETWEEN = "\n"
"""What stands between the words of a pair in a list: no word that can be saved has it."""


def learn_phrases(
    client: Any, texts: Sequence[Path], place: Path, passes: int
) -> tuple[Phrases, list[Path]]:
    """Return the phrases of encoded shards, and where the shards are with their phrases joined.

    The phrases are those of `Phrases.learn` on the whole text: every pass adds up how often words,
    and words that follow each other, occur in the shards.
    """
    phrases = Phrases.empty(passes)
    ranked: list[str] = []
    for number in range(phrases.settings["passes"]):
        saved = _saved(phrases, place)
        tasks = [(text, saved, place, key_of(text.name, saved.name)) for text in texts]
        found = run_all(client, _list_pairs, tasks, f"pairs of words, pass {number + 1}")
        words = add_up(client, merge_words, [each for each, _ in found], place, "words")
        pairs = add_up(client, merge_words, [each for _, each in found], place, "pairs")
        if not number:
            frequent, counts = words_of(words, phrases.settings["min_count"])
            ranked = [frequent[i] for i in frequency_order(frequent, counts)]
        phrases = phrases.extended(*_statistics(words, pairs, [*ranked, *phrases.words], phrases))
    saved = _saved(phrases, place)
    joining = [(text, saved, place / f"joined-{key_of(text.name, saved.name)}") for text in texts]
    return phrases, run_all(client, _join, joining, "joining phrases")


def _saved(phrases: Phrases, place: Path) -> Path:
    output = place / f"phrases-{key_of(phrases)}"
    return once(output, lambda: phrases.save(output))


def _list_pairs(text: Path, phrases: Path, place: Path, key: str) -> tuple[Path, Path]:
    """List the words of a shard, with the phrases so far joined, and those that follow them."""
    words, pairs = place / f"words-{key}", place / f"pairs-{key}"

    def work() -> None:
        stream = Phrases.load(phrases).joined(stream_of(Corpus.load(text)), 1)
        places, counts, _ = count_following(stream, 1, 1)
        occurring = np.flatnonzero(stream.counts)
        save_words(words, [stream.words[i] for i in occurring], stream.counts[occurring])
        spelled = [
            stream.words[first] + _BETWEEN + stream.words[second]
            for first, second in places.tolist()
        ]
        save_words(pairs, spelled, counts)

    once(pairs, work)  # which is written last
    return words, pairs


def _statistics(
    words: Path, pairs: Path, ranked: Sequence[str], phrases: Phrases
) -> tuple[list[str], PairStatistics]:
    """Return the words that may be joined, best first, and what is known of them.

    `ranked` are all of these in the order in which one machine numbers them.
    """
    least = phrases.settings["min_count"]
    frequent, frequencies = words_of(words, least)
    occurrences = dict(zip(frequent, frequencies.tolist(), strict=True))
    names = [word for word in dict.fromkeys(ranked) if word in occurrences]
    rank = {word: number for number, word in enumerate(names)}
    spelled, counts = words_of(pairs, least)
    places = [[rank[word] for word in pair.split(_BETWEEN)] for pair in spelled]
    different, total = totals_of(words)
    return names, PairStatistics(
        np.array(places, np.int64).reshape(-1, 2),
        counts,
        np.array([occurrences[word] for word in names], np.int64),
        total,
        different + totals_of(pairs)[0],
    )


def _join(text: Path, phrases: Path, output: Path) -> Path:
    """Join the phrases of a shard."""

    def work() -> None:
        with threads(1):
            Phrases.load(phrases).join(Corpus.load(text), output)

    return once(output, work)
