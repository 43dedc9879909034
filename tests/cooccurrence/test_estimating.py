"""Estimates of the number of pairs, and what becomes of a vocabulary that they allow."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus
from qwem._internal import resources
from qwem.cooccurrence import _counting as counting
from qwem.cooccurrence import _estimates as estimating
from qwem.cooccurrence._counting import expected_pairs
from qwem.cooccurrence._estimates import sampled_pairs
from qwem.cooccurrence.contexts import Subsampling, window_slots
from qwem.errors import MemoryLimitError

if TYPE_CHECKING:
    from pathlib import Path

SLOTS = window_slots(5, layout="symmetric")


@pytest.fixture(scope="module")
def text(text_file: Path) -> Corpus:
    """Text, of which at most the 20,000 most frequent words are kept."""
    corpus = Corpus.from_files(text_file, min_tokens=500, tokenizer="ascii", min_count=1)
    return corpus.restrict(min(20_000, len(corpus.vocabulary)))


def repeated(corpus: Corpus, times: int) -> Corpus:
    """The same documents several times over."""
    starts = np.arange(times)[:, None] * corpus.offsets[-1] + corpus.offsets[:-1]
    tokens = np.tile(np.asarray(corpus.tokens), times)
    return Corpus(tokens, np.append(starts.ravel(), tokens.size), corpus.vocabulary)


def test_expected_pairs_is_an_upper_estimate(text: Corpus) -> None:
    part = text.restrict(min(5_000, len(text.vocabulary)))
    counts = Cooccurrence.count(part, window=4)
    expected = expected_pairs(counts.word_counts, 8).sum()
    assert counts.symmetric.nnz < expected < 3 * counts.symmetric.nnz


@pytest.mark.parametrize("times", [1, 10])
def test_sampled_pairs_are_an_upper_estimate(
    text: Corpus, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of new text, and of text that comes again and again and has few new pairs."""
    monkeypatch.setattr(estimating, "SAMPLE_TOKENS", len(text.tokens) // 4)
    monkeypatch.setattr(estimating, "SAMPLE_SHARE", 0.25)
    corpus = repeated(text, times)
    found = sampled_pairs(corpus, SLOTS)
    counts = Cooccurrence.count(corpus, 5).symmetric
    for size in (500, len(text.vocabulary)):
        pairs = counts.restrict(size).nnz
        assert pairs < found[size] < 2 * pairs


def test_a_short_text_is_its_own_sample(text: Corpus) -> None:
    part = text.documents(0, 40)
    subsampling = Subsampling(1e-3, 3, 2)
    found = sampled_pairs(part, SLOTS, subsampling)
    counts = Cooccurrence.count(part, 5, subsample=1e-3, seed=3, draws=2).symmetric
    sizes = [0, 1, 2, 100, len(text.vocabulary)]
    # Blocks of the text begin anew, so pairs across them are missing.
    exact = np.array([counts.tocsr()[:size, :size].nnz for size in sizes])
    np.testing.assert_allclose(found[sizes], exact, rtol=0.01)


def test_an_estimate_does_not_keep_its_corpus(text: Corpus) -> None:
    part = text.documents(0, 5)
    first = sampled_pairs(part, SLOTS)
    assert sampled_pairs(part, SLOTS) is first
    reference = weakref.ref(part)
    del part
    gc.collect()
    assert reference() is None


def test_counting_is_refused_where_the_result_needs_more_memory_than_there_is(
    text: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Cooccurrence.count(text, 5).symmetric
    monkeypatch.setattr(resources, "available_memory", lambda: expected.nbytes // 2)
    refusal = f"Counting {len(text.vocabulary):,} words would need"
    with pytest.raises(MemoryLimitError, match=refusal):
        Cooccurrence.count(text, 5)


@pytest.mark.real_text
def test_counting_is_not_refused_by_an_upper_estimate(
    text: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words in random order would need more memory than there is, but those of a text don't."""
    corpus = repeated(text.documents(0, 100), 10)
    expected = Cooccurrence.count(corpus, 5, slots="symmetric").symmetric
    available = 5 * expected.nbytes
    assert available < 8 * expected_pairs(np.bincount(corpus.tokens), 10).sum()
    for module in (counting, estimating, resources):
        monkeypatch.setattr(module, "available_memory", lambda: available)
    assert Cooccurrence.count(corpus, 5, slots="symmetric").symmetric == expected
