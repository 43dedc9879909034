"""Counts equal a brute-force double loop, bit for bit, however the work is divided."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from in_threads import in_threads
from qwem import Cooccurrence, Corpus, Vocabulary
from qwem._internal.arrays import check_csr
from qwem.cooccurrence import Slot, context_matrix
from qwem.cooccurrence import _counting as counting
from qwem.cooccurrence._counting import count_pairs
from qwem.cooccurrence._rows import DiskRows, RowWriter
from qwem.cooccurrence.contexts import Subsampling, context_sides, mirrored, window_slots
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.errors import CountError, DiskLimitError, SettingError
from twins.cooccurrence import contexts, count_slot, documents_of, keep_probability, thin
from twins.cooccurrence import count_pairs as slow_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WORDS = st.sampled_from([f"w{i}" for i in range(70)] + ["the"] * 20)
DOCUMENTS = st.lists(st.lists(WORDS, max_size=30), min_size=1, max_size=8).filter(any)
WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=6)
SLOTS = st.lists(st.builds(Slot, WEIGHTS.map(tuple), st.booleans()), min_size=1, max_size=3)


def corpus_of(documents: list[list[str]], **options: Any) -> Corpus:
    return Corpus.from_documents(documents, **options)


def slow_counts(documents: list[list[int]], words: int, slots: Sequence[Slot]) -> list[Any]:
    return [
        count_slot(documents, words, slot.weights or (), directed=slot.directed) for slot in slots
    ]


def arrays_of(pairs: Iterable[PairCounts]) -> list[Any]:
    return [each.toarray() for each in pairs]


@given(DOCUMENTS, WEIGHTS, st.sampled_from(["symmetric", "sides", "near-far"]))
def test_equals_the_double_loop(
    documents: list[list[str]], weights: list[int], layout: str
) -> None:
    corpus = corpus_of(documents)
    counts = Cooccurrence.count(corpus, len(weights), weights, slots=layout)
    words = len(corpus.vocabulary)
    expected = slow_count(documents_of(corpus), words, weights)
    assert np.array_equal(counts.symmetric.toarray(), expected)
    assert np.array_equal(counts.word_counts, corpus.vocabulary.counts)
    assert counts.weights == tuple(weights)
    each = slow_counts(documents_of(corpus), words, counts.slots)
    assert all(map(np.array_equal, arrays_of(counts.matrices), each))


@given(DOCUMENTS, SLOTS, st.integers(1, 4), st.integers(1, 40), st.integers(1, 80))
def test_threads_chunks_and_head_do_not_matter(
    documents: list[list[str]], slots: list[Slot], threads: int, chunk: int, head: int
) -> None:
    corpus = corpus_of(documents)
    expected = slow_counts(documents_of(corpus), len(corpus.vocabulary), slots)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "HEAD_WORDS", head)
        patch.setattr(counting, "DENSE_COUNTS_SHARE", 2.0)
        pairs, words, _ = in_threads(threads, lambda: count_pairs(corpus, slots, None, chunk))
    assert all(map(np.array_equal, arrays_of(pairs), expected))
    assert np.array_equal(words, corpus.vocabulary.counts)
    assert pairs == count_pairs(corpus, slots, None).pairs


@given(DOCUMENTS, SLOTS, st.integers(1, 3), st.integers(1, 4000), st.integers(1, 60))
def test_counts_are_the_same_bits_in_little_memory(
    documents: list[list[str]], slots: list[Slot], threads: int, memory: int, head: int
) -> None:
    corpus = corpus_of(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "HEAD_WORDS", head)
        patch.setattr(counting, "DENSE_COUNTS_SHARE", 2.0)
        little = in_threads(
            threads, lambda: count_pairs(corpus, slots, None, working_memory=memory)
        )
    plenty = count_pairs(corpus, slots, None)
    assert little.pairs == plenty.pairs
    assert np.array_equal(little.words, plenty.words)


@given(DOCUMENTS, SLOTS)
def test_the_symmetric_counts_are_the_sum_of_slots_and_transposes(
    documents: list[list[str]], slots: list[Slot]
) -> None:
    counts = Cooccurrence.count(corpus_of(documents), slots=slots)
    expected: Any = 0
    for slot, matrix in zip(counts.slots, arrays_of(counts.matrices), strict=True):
        wide = matrix.astype(np.int64)
        expected = expected + wide + (wide.T if slot.directed else 0)
    assert np.array_equal(counts.symmetric.toarray(), expected)
    assert counts.symmetric == PairCounts.from_matrix(expected)
    assert np.array_equal(counts.pair_sums, expected.sum(axis=1))
    words = counts.vocabulary.words
    assert counts[words[0], words[-1]] == expected[0, -1]


@given(DOCUMENTS, WEIGHTS)
def test_slots_of_one_distance_each_add_up_to_the_window(
    documents: list[list[str]], weights: list[int]
) -> None:
    corpus = corpus_of(documents)
    window = Cooccurrence.count(corpus, len(weights), weights)
    lags = [(0,) * distance + (weight,) for distance, weight in enumerate(weights)]
    by_lag = Cooccurrence.count(corpus, slots=lags)
    assert np.array_equal(np.sum(arrays_of(by_lag.matrices), axis=0), window.matrices[0].toarray())
    assert by_lag.symmetric == window.symmetric
    assert by_lag.weights == window.weights


@given(DOCUMENTS, SLOTS, st.integers(1, 3))
def test_contexts_are_the_slots_and_their_sides_word_by_word(
    documents: list[list[str]], slots: list[Slot], threads: int
) -> None:
    counts = Cooccurrence.count(corpus_of(documents), slots=slots)
    expected = contexts(arrays_of(counts.matrices), [slot.directed for slot in slots])
    found = in_threads(threads, lambda: context_matrix(counts))
    assert np.array_equal(found.toarray(), expected)
    assert found.shape == (
        len(counts.vocabulary),
        counts.contexts_per_word * len(counts.vocabulary),
    )
    check_csr(found.data, found.indices, found.indptr, *found.shape)
    sides = in_threads(threads, lambda: context_sides(counts))
    kinds = len(sides)
    for kind, side in enumerate(mirrored(sides, counts.slots)):
        assert np.array_equal(side.toarray(), expected[:, kind::kinds].T)
        check_csr(side.data, side.indices, side.indptr, *side.shape)


@given(DOCUMENTS)
def test_a_word_has_what_comes_before_and_after_it(documents: list[list[str]]) -> None:
    counts = Cooccurrence.count(corpus_of(documents), 4, slots="near-far")
    total = sum(arrays_of(counts.matrices))
    for number, word in enumerate(counts.vocabulary):
        assert np.array_equal(counts.after(word), total[number])
        assert np.array_equal(counts.before(word), total[:, number])
    with pytest.raises(CountError, match='slots="sides"'):
        Cooccurrence.count(corpus_of(documents), 4, slots="symmetric").before(word)


def test_little_memory_means_many_parts_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    words = (rng.zipf(1.3, 20_000) % 700).astype(str)
    corpus = corpus_of([list(map(str, part)) for part in np.split(words, 20)])
    plenty = count_pairs(corpus, [Slot((2, 1))], None)
    sizes: list[int] = []
    finish = RowWriter.finish

    def finish_and_note(self: RowWriter) -> Any:
        run = finish(self)
        sizes.append(len(run.columns))
        return run

    monkeypatch.setattr(counting, "DENSE_COUNTS_SHARE", 2.0)
    monkeypatch.setattr(RowWriter, "finish", finish_and_note)
    little = count_pairs(corpus, [Slot((2, 1))], None, working_memory=50_000)
    assert little.pairs == plenty.pairs
    chunks = -(-20_000 // (50_000 // 4 // 6))
    assert len(sizes) == 2 * chunks - 1  # each chunk is written, and each sum of two
    assert sum(sizes) < 6 * max(sizes)


def test_the_disk_for_parts_is_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    words = (rng.zipf(1.3, 20_000) % 700).astype(str)
    corpus = corpus_of([list(map(str, part)) for part in np.split(words, 20)])
    taken: list[int] = []
    merge = DiskRows._merge_last_two

    def merge_and_note(self: DiskRows) -> None:
        before = sum(len(rows.columns) for rows in self._sums)
        merge(self)
        taken.append(8 * (before + len(self._sums[-1].columns)))

    monkeypatch.setattr(counting, "DENSE_COUNTS_SHARE", 2.0)
    monkeypatch.setattr(counting, "HEAD_WORDS", 1)
    monkeypatch.setattr(DiskRows, "_merge_last_two", merge_and_note)
    count_pairs(corpus, [Slot((2, 1))], None, working_memory=50_000)
    usage = shutil.disk_usage(tempfile.gettempdir())

    def count_on_disk_of(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
        count_pairs(corpus, [Slot((2, 1))], None, working_memory=50_000)

    with pytest.raises(
        DiskLimitError, match=r"Counting \d+ words in .* more disk space in .*TMPDIR"
    ):
        count_on_disk_of(max(taken) - 1)
    count_on_disk_of(2 * max(taken))


@given(DOCUMENTS, st.integers(0, 2**63 - 1), st.integers(1, 3), st.integers(1, 40), st.data())
def test_subsampling_is_a_hash_of_seed_document_and_position(
    documents: list[list[str]], seed: int, draws: int, chunk: int, data: st.DataObject
) -> None:
    corpus = corpus_of(documents)
    size = len(corpus.vocabulary)
    subsample = 0.05
    weights = [3, 2, 1]
    kept = [
        document
        for draw in range(draws)
        for document in thin(documents_of(corpus), corpus.vocabulary.counts, subsample, seed, draw)
    ]
    expected = slow_count(kept, size, weights)
    subsampling = Subsampling(subsample, seed, draws)
    slots = window_slots(3, weights, "symmetric")
    (pairs,), words, _ = in_threads(2, lambda: count_pairs(corpus, slots, subsampling, chunk))
    assert np.array_equal(pairs.toarray(), expected)
    assert words.tolist() == [sum(d.count(word) for d in kept) for word in range(size)]

    slots = window_slots(3, weights, "bigrams")
    (bigrams, window), kept_words, _ = count_pairs(corpus, slots, subsampling, chunk)
    whole = count_slot(documents_of(corpus), size, weights[:1], directed=True)
    assert np.array_equal(bigrams.toarray(), draws * whole)
    assert window == pairs
    assert np.array_equal(kept_words, words)

    cut = data.draw(st.integers(0, len(corpus)))
    parts = [
        Cooccurrence.count(
            part, 3, weights, slots="bigrams", subsample=subsample, seed=seed, draws=draws
        )
        for part in (corpus.documents(0, cut), corpus.documents(cut, len(corpus)))
    ]
    assert (parts[0] + parts[1]).symmetric == pairs
    assert (parts[0] + parts[1]).matrices == (bigrams, pairs)


def test_subsampling_keeps_words_as_often_as_word2vec_does() -> None:
    text = [["the"] * 90 + ["cat"] * 10] * 2000
    corpus = corpus_of(text)
    thinned = Cooccurrence.count(corpus, 1, subsample=1e-1, seed=3)
    for word, frequency in (("the", 0.9), ("cat", 0.1)):
        trials = frequency * 200_000
        chance = keep_probability(frequency, 1e-1)
        spread = np.sqrt(trials * chance * (1 - chance)) + 1
        kept = thinned.word_counts[corpus.vocabulary.index(word)]
        assert abs(kept - trials * chance) < 4 * spread


@given(DOCUMENTS, WEIGHTS)
def test_masked_words_keep_their_place(documents: list[list[str]], weights: list[int]) -> None:
    distinct = len({word for document in documents for word in document})
    corpus = corpus_of(documents, vocab_size=max(1, distinct // 2), oov="mask")
    counts = Cooccurrence.count(corpus, len(weights), weights)
    expected = slow_count(documents_of(corpus), len(corpus.vocabulary), weights)
    assert np.array_equal(counts.symmetric.toarray(), expected)


def test_short_documents_count_fully() -> None:
    counts = Cooccurrence.count(Corpus.from_documents(["a b c d e", "f g"]), window=16)
    assert counts["a", "e"] == 13
    assert counts["f", "g"] == counts["g", "f"] == 16
    assert counts["e", "f"] == 0


def test_counts_beyond_32_bits_are_exact() -> None:
    corpus = Corpus.from_documents([["a", "b"] * 500])
    weight = 2**40 + 1
    counts = Cooccurrence.count(corpus, 1, [weight])
    assert counts.symmetric.dtype == np.uint64
    assert counts["a", "b"] == 999 * weight
    doubled = counts + counts
    assert doubled["a", "b"] == 2 * 999 * weight


def test_more_contexts_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_documents([["a", "b", "c"]])
    monkeypatch.setattr(counting, "MOST_CELLS", 8)
    Cooccurrence.count(corpus, slots="sides")
    with pytest.raises(CountError, match="2 slots of 3 words are too many"):
        Cooccurrence.count(corpus, slots="near-far")


def test_counts_that_could_pass_64_bits_are_refused() -> None:
    corpus = Corpus.from_documents([["a", "b"] * 5])
    with pytest.raises(CountError, match="beyond 64 bits"):
        Cooccurrence.count(corpus, 1, [2**62])


def test_sums_grow_from_32_to_64_bits_instead_of_wrapping() -> None:
    corpus = Corpus.from_documents([["a", "b"]])
    counts = Cooccurrence.count(corpus, 1, [2**31 - 1])
    assert counts.symmetric.dtype == np.uint32
    total = counts + counts + counts
    assert total.matrices[0].dtype == np.uint64
    assert total.symmetric.dtype == np.uint64
    assert total["a", "b"] == 3 * (2**31 - 1)
    assert (total - counts - counts).symmetric == counts.symmetric


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "`window` must be a whole number from 1 to 10,000, not 0"),
        ({"window": 10**10}, "`window` must be a whole number from 1 to 10,000"),
        ({"window": 2.5}, "`window` must be a whole number"),
        ({"window": 2, "weights": [float("nan"), 1]}, "`weights` must be whole numbers from 0 to"),
        ({"window": 1, "weights": [10**23]}, "`weights` must be whole numbers from 0 to"),
        ({"weights": "triangular"}, "'dynamic', 'flat'"),
        ({"window": 2, "weights": [1]}, "needs 2 weights, not 1"),
        ({"window": 1, "weights": [-1]}, "`weights` must be whole numbers from 0 to"),
        ({"window": 1, "weights": [0.5]}, "`weights` must be whole numbers from 0 to"),
        ({"subsample": 0.0}, "subsample must lie between"),
        ({"draws": 2}, "without `subsample`"),
        ({"seed": -1}, "seed must be"),
        (
            {"slots": "sideways"},
            "must be one of 'adjacent', 'bigrams', 'sides', 'near-far', 'symmetric'",
        ),
        ({"slots": []}, "needs at least one slot"),
        ({"slots": [()]}, "the number of weights` must be a whole number from 1"),
        ({"slots": [Slot(None)]}, "each with a weight by distance"),
        ({"slots": [Slot((1,), whole_text=True)]}, "needs at least one slot of the window"),
        ({"slots": [(1, -1)]}, "must be whole numbers from 0 to"),
    ],
)
def test_bad_settings_are_named(options: dict[str, Any], message: str) -> None:
    corpus = Corpus.from_documents(["a b"])
    with pytest.raises(SettingError, match=message):
        Cooccurrence.count(corpus, **options)


def test_counts_of_a_text_equal_a_plain_loop(text_corpus: Corpus) -> None:
    corpus = text_corpus.restrict(1_000).documents(0, 100)
    counts = in_threads(2, lambda: Cooccurrence.count(corpus, window=16))
    expected = np.zeros((1_000, 1_000), np.int64)
    for a, b in pairwise(corpus.offsets):
        document: Any = np.asarray(corpus.tokens[a:b])
        for distance in range(1, 17):
            np.add.at(expected, (document[:-distance], document[distance:]), 17 - distance)
    assert np.array_equal(counts.symmetric.toarray(), expected + expected.T)


def test_a_corpus_of_the_vocabulary_alone_has_no_pairs() -> None:
    corpus = Corpus.from_documents([["a"], ["b"]])
    counts = Cooccurrence.count(corpus)
    assert counts.symmetric.total == 0
    assert counts.vocabulary == Vocabulary.from_counts({"a": 1, "b": 1})
