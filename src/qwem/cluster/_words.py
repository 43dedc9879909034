"""Sorted lists of words and their counts in files, merged in bounded memory; phrases.

A text of 10¹² words has some 10⁹ different ones. Lists are therefore Parquet files sorted by word
and merged one batch at a time; only words that may enter the vocabulary are ever in memory. An
entry may also be a pair of successive words, with a line break between them.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.resources import threads
from qwem.cluster._tasks import add_up, key_of, make_all, once, run_all
from qwem.corpus import Corpus, Phrases
from qwem.corpus._token_stream import count_following, stream_of
from qwem.corpus.phrases import PairStatistics
from qwem.corpus.vocabulary import choose_words, frequency_order, min_count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.corpus.reading import Reading


KIND = "words"
_WORDS_FILE = "words.parquet"
BATCH = 1 << 16
"""Words of a list that are in memory at a time."""
_HISTOGRAM = 1 << 16
"""Larger counts share one bin of the histogram from which the size of a vocabulary is found."""


def save_words(path: Path, words: Sequence[str], counts: NDArray[Any]) -> None:
    """Save a list of different words with their counts, sorted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spelled = pa.array(words, pa.large_string())
    order = pc.array_sort_indices(spelled)
    table = pa.table([spelled.take(order), pa.array(counts).take(order)], schema=_schema())
    with _writing(path) as write:
        write(table)


def merge_words(paths: Sequence[Path], output: Path) -> None:
    """Merge lists of words into one, with the sum of each word's counts.

    One batch of each list is in memory. Up to the smallest of their last words all batches are
    complete: these words are added up and written, and the batch that ends there is replaced.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = [_batches(path) for path in paths]
    heads: list[Any] = [next(each, None) for each in lists]
    with _writing(output) as write:
        while any(head is not None for head in heads):
            reached = min(head["word"][-1].as_py() for head in heads if head is not None)
            complete = []
            for number, head in enumerate(heads):
                if head is None:
                    continue
                # Words are sorted, so those up to here are the first ones.
                size = pc.sum(pc.less_equal(head["word"], pa.scalar(reached, pa.large_string())))
                complete.append(head.slice(0, size.as_py()))
                rest = head.slice(size.as_py())
                heads[number] = rest if rest.num_rows else next(lists[number], None)
            groups = pa.concat_tables(complete).group_by("word", use_threads=False)
            total = groups.aggregate([("count", "sum")]).rename_columns(["word", "count"])
            write(total.sort_by("word"))


def words_of(path: Path, least: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return the words that occur at least `least` times, sorted, and their counts."""
    import pyarrow.compute as pc

    words: list[str] = []
    counts = [np.empty(0, np.int64)]
    for batch in _batches(path):
        often = batch.filter(pc.greater_equal(batch["count"], least))
        words += often["word"].to_pylist()
        counts.append(often["count"].to_numpy())
    return words, np.concatenate(counts)


def totals_of(path: Path) -> tuple[int, int]:
    """Return how many words a list has, and the sum of their counts."""
    different = total = 0
    for batch in _batches(path, ["count"]):
        different += batch.num_rows
        total += int(batch["count"].to_numpy().sum())
    return different, total


def choose_from(path: Path, reading: Reading) -> tuple[Vocabulary, int]:
    """Choose the vocabulary from a list of all words; see `qwem.corpus.choose_words`."""
    by_count = np.zeros(_HISTOGRAM + 1, np.int64)
    for batch in _batches(path, ["count"]):
        numbers = np.minimum(batch["count"].to_numpy(), _HISTOGRAM)
        by_count += np.bincount(numbers, minlength=_HISTOGRAM + 1)
    as_often = by_count[::-1].cumsum()[::-1]  # the number of words with at least this count
    min_count = min_count_of(lambda least: int(as_often[min(least, _HISTOGRAM)]), reading)
    least = min_count
    if reading.vocab_size is not None:
        enough = np.flatnonzero(as_often >= int(reading.vocab_size))
        least = max(least, int(enough[-1]) if enough.size else 0)
    words, counts = words_of(path, least)

    def spell(numbers: NDArray[np.int64]) -> list[str]:
        return [words[number] for number in numbers]

    return choose_words(counts, spell, replace(reading, min_count=min_count))


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield tables of the words of a list, in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    saved = artefact.opened(path)
    with pq.ParquetFile(saved.mapped_path(_WORDS_FILE)) as file:
        for batch in file.iter_batches(BATCH, columns=columns):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


@contextmanager
def _writing(path: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that appends a table to the list at `path`, written when the block ends."""
    import pyarrow.parquet as pq

    schema = _schema()
    with artefact.writing(path, KIND) as directory:
        with pq.ParquetWriter(directory / _WORDS_FILE, schema, use_dictionary=False) as file:
            yield lambda table: file.write_table(table.cast(schema))
        artefact.write_metadata(directory, KIND, {})


def _schema() -> Any:
    """Return the columns of a list."""
    import pyarrow as pa

    return pa.schema([("word", pa.large_string()), ("count", pa.int64())])


_BETWEEN = "\n"
"""Separates the words of a pair in a list; no word that can be saved contains it."""


def learn_phrases(
    client: Any, texts: Sequence[Path], place: Path, passes: int
) -> tuple[Phrases, list[Path]]:
    """Return the phrases of encoded shards, and the paths of the shards with phrases joined.

    The phrases are those of `Phrases.learn` on the whole text: every pass adds up the counts of
    words and of successive words over the shards.
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
    return phrases, make_all(client, _join, joining, "joining phrases")


def _saved(phrases: Phrases, place: Path) -> Path:
    output = place / f"phrases-{key_of(phrases)}"
    return once(output, lambda: phrases.save(output))


def _list_pairs(text: Path, phrases: Path, place: Path, key: str) -> tuple[Path, Path]:
    """List the words and the pairs of successive words of a shard, with phrases so far joined."""
    words, pairs = place / f"words-{key}", place / f"pairs-{key}"

    def work() -> None:
        with threads(1):
            stream = Phrases.load(phrases).joined(stream_of(Corpus.load(text)))
            places, counts, _ = count_following(stream, 1)
        occurring = np.flatnonzero(stream.counts)
        save_words(words, [stream.words[i] for i in occurring], stream.counts[occurring])
        spelled = [
            stream.words[first] + _BETWEEN + stream.words[second]
            for first, second in places.tolist()
        ]
        save_words(pairs, spelled, counts)

    once(pairs, work)  # pairs are written last
    return words, pairs


def _statistics(
    words: Path, pairs: Path, ranked: Sequence[str], phrases: Phrases
) -> tuple[list[str], PairStatistics]:
    """Return the words that may be joined, and the statistics of their pairs.

    `ranked` has all of them, in the order in which a single machine numbers them.
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


def _join(text: Path, phrases: Path, output: Path) -> None:
    """Join the phrases of a shard."""
    with threads(1):
        Phrases.load(phrases).join(Corpus.load(text), output)
