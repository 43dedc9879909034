"""Counts of words by passage: what they count, and that they add up and subtract exactly."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from in_threads import in_threads
from qwem import Cooccurrence, Corpus
from qwem._internal import artefact
from qwem.cooccurrence import passages as module
from qwem.cooccurrence.passages import Passages
from qwem.errors import ArtefactError, CountError
from twins.cooccurrence import documents_of, thin

if TYPE_CHECKING:
    from pathlib import Path

LENGTH = 60


def some_text(documents: int, seed: int = 0, words: int = 30) -> list[list[str]]:
    """Documents of 0 to 150 words, the last of them twice."""
    rng = np.random.default_rng(seed)
    names = np.array([f"w{number}" for number in range(words)])
    chances = 1 / np.arange(1, words + 1)
    found = [
        rng.choice(names, size, p=chances / chances.sum()).tolist()
        for size in rng.integers(0, 150, documents)
    ]
    return [*found, found[-1]]


def passages_of(text: list[Any], length: int) -> list[list[Any]]:
    """Cut each document that is long enough into equal parts of about `length` words."""
    found = []
    for document in text:
        parts = max(1, int(len(document) / length + 0.5)) if len(document) >= length / 20 else 0
        cuts = [len(document) * part // parts for part in range(parts + 1)] if parts else []
        found += [document[a:b] for a, b in itertools.pairwise(cuts)]
    return found


def table_of(counts: Cooccurrence) -> Counter[tuple[tuple[str, int], ...]]:
    """How often each bag of words is a passage; equal passages have been added."""
    assert counts.passages is not None
    words = counts.vocabulary.words
    rows = (counts.passages.matrix[[row]].tocoo() for row in range(len(counts.passages)))
    return Counter(
        tuple(sorted((words[j], int(n)) for j, n in zip(row.col, row.data, strict=True)))
        for row in rows
    )


def counted(text: list[list[str]], **options: Any) -> Cooccurrence:
    return Cooccurrence.count(Corpus.from_documents(text), 3, passages=LENGTH, **options)


def test_passages_are_equal_parts_of_documents() -> None:
    text = some_text(20)
    by_words = Counter(tuple(passage) for passage in passages_of(text, LENGTH))
    expected = Counter(
        tuple(sorted((word, n * times) for word, n in Counter(passage).items()))
        for passage, times in by_words.items()
    )
    assert len(expected) > 20
    assert max(by_words.values()) == 2
    assert table_of(counted(text)) == expected


def test_words_that_are_not_subsampled_are_left_out() -> None:
    corpus = Corpus.from_documents(some_text(20))
    counts = Cooccurrence.count(corpus, 3, passages=LENGTH, subsample=0.02, seed=4, draws=2)
    whole = documents_of(corpus)
    kept: Counter[int] = Counter()
    for draw in (0, 1):
        # Which words of a long document are kept, with a mark in place of the others.
        for document, thinned in zip(
            whole, thin(whole, corpus.vocabulary.counts, 0.02, 4, draw), strict=True
        ):
            kept.update(thinned if len(document) >= LENGTH / 20 else [])
    assert counts.passages is not None
    assert counts.passages.matrix.sum(axis=0).tolist() == [
        kept[word] for word in range(len(corpus.vocabulary))
    ]
    assert counts.passages.matrix.sum() < 2 * len(corpus.tokens)


def test_an_occurrence_weighs_a_tenth_of_its_window() -> None:
    counts = counted(some_text(30))
    assert counts.passages is not None
    long = counts.passages.matrix.sum()
    assert counts.passages.word_sums.sum() == counts.passages.sums.sum()
    # Weights 3, 2 and 1 on both sides: 12 pairs of a word, less at the ends of documents.
    assert counts.passages.sums.sum() == pytest.approx(long * 1.2, rel=0.2)
    by_word, by_passage = counts.passages.pairs
    assert (by_passage != by_word.T).nnz == 0
    assert np.array_equal(by_passage.sum(axis=1), counts.passages.sums)


@given(st.integers(0, 12), st.integers(0, 99), st.sampled_from([None, 0.05]))
def test_parts_add_up_to_the_whole_and_subtract_from_it(
    cut: int, seed: int, subsample: float | None
) -> None:
    corpus = Corpus.from_documents(some_text(11, seed))
    options: dict[str, Any] = {"passages": LENGTH, "subsample": subsample}
    whole = Cooccurrence.count(corpus, 3, **options)
    first = Cooccurrence.count(corpus.documents(0, cut), 3, **options)
    second = Cooccurrence.count(corpus.documents(cut, len(corpus)), 3, **options)
    assert first + second == whole
    assert whole - second == first
    assert whole - first == second
    assert (first + second).fingerprint == whole.fingerprint
    assert (first + first) - first == first * 2 - first == first


@given(st.integers(0, 99))
def test_merging_aligns_vocabularies(seed: int) -> None:
    ours, theirs = some_text(6, seed), some_text(5, seed + 1, words=35)
    merged = Cooccurrence.merge([counted(ours), counted(theirs)])
    assert merged == counted(ours + theirs)


@given(st.integers(1, 30), st.integers(0, 9))
def test_words_are_left_out_and_put_in_another_order(size: int, seed: int) -> None:
    counts = counted(some_text(8, seed))
    words = counts.vocabulary.words
    size = min(size, len(words))
    corner = counts.restrict(size)
    kept = {
        tuple((word, n) for word, n in bag if word in words[:size]) for bag in table_of(counts)
    } - {()}
    assert set(table_of(corner)) == kept
    turned = counts.reindex(words[::-1])
    assert table_of(turned) == table_of(counts)
    assert turned.reindex(words) == counts
    assert turned.reindex(words).fingerprint == counts.fingerprint


def test_threads_and_tasks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    text = some_text(40)
    whole = counted(text)
    monkeypatch.setattr(module, "TASK_TOKENS", 100)
    for threads in (1, 3):
        assert in_threads(threads, lambda: counted(text)) == whole


def test_what_does_not_fit_is_refused() -> None:
    text = some_text(9)
    counts, corpus = counted(text), Corpus.from_documents(text)
    assert counts.passages is not None
    with pytest.raises(CountError, match="with passages and without can't be added"):
        counts + Cooccurrence.count(corpus, 3)
    with pytest.raises(CountError, match="different lengths or weights"):
        counts + Cooccurrence.count(corpus, 3, passages=30)
    other = Cooccurrence.count(corpus.documents(0, 4), 3, passages=30)
    with pytest.raises(CountError, match="different lengths or weights can't be subtracted"):
        counts - other
    with pytest.raises(CountError, match=r"would reach 2\^63"):
        _ = counts.passages * 2**62
    with pytest.raises(CountError, match="give at least one"):
        counts.reindex([])
    with pytest.raises(CountError, match="not a part"):
        Cooccurrence.count(corpus.documents(0, 4), 3, passages=LENGTH) - counts


def test_saved_passages_are_the_same_and_damage_is_found(tmp_path: Path) -> None:
    counts = counted(some_text(9))
    counts.save(tmp_path / "counts")
    assert Cooccurrence.load(tmp_path / "counts") == counts
    assert counts.passages is not None
    swapped = Passages(
        LENGTH, counts.passages.weight, counts.passages.digests[::-1], counts.passages.matrix
    )
    arrays = counts._arrays() | swapped.arrays("passages")
    file = next((tmp_path / "counts").glob("*.safetensors"))
    artefact.write_arrays(file, {name: np.ascontiguousarray(a) for name, a in arrays.items()})
    with pytest.raises(ArtefactError):
        Cooccurrence.load(tmp_path / "counts")
