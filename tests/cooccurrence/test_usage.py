"""Usage of words: what occurs with what, against brute force over all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus
from qwem.cooccurrence.contexts import Usage
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path


def some_counts(slots: Any) -> Cooccurrence:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.full(40, 0.3), size=5)
    documents = [
        [f"w{i}" for i in rng.choice(40, size=30, p=chances[rng.integers(5)])] for _ in range(80)
    ]
    return Cooccurrence.count(Corpus.from_documents(documents), window=4, slots=slots)


@pytest.mark.parametrize("slots", ["sides", "near-far", "adjacent", "symmetric"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_the_strongest_pairs_are_kept(slots: str, side: Literal["before", "after"]) -> None:
    counts = some_counts(slots)
    usage = Usage.of(counts, counts.word_counts)
    directed = slots != "symmetric"
    ordered = zip(counts.slots, counts.matrices, strict=True)
    kept = [matrix.toarray() for slot, matrix in ordered if slot.directed is directed]
    after = np.sum(kept, axis=0).astype(float)
    expected = np.outer(after.sum(axis=1), after.sum(axis=0)) / after.sum()
    ratio = np.divide(after, expected, out=np.zeros_like(after), where=expected > 0)
    score = np.where(ratio > 1, after * np.log(np.maximum(ratio, 1)), 0)
    if side == "before":
        ratio, score = ratio.T, score.T
    assert usage.directed is directed
    for word in range(len(counts.vocabulary)):
        found = usage.beside(word, side)
        best = np.sort(score[word])[::-1][: len(found)]
        assert [score[word, other] for other, _ in found] == pytest.approx(best)
        assert [each for _, each in found] == pytest.approx([ratio[word, o] for o, _ in found])
        assert len(found) == min(10, np.sum(score[word] > 0))


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    counts = some_counts("sides")
    usage = Usage.of(counts, counts.word_counts * 3)
    usage.save(tmp_path / "usage")
    again = Usage.load(tmp_path / "usage")
    assert np.array_equal(again.frequencies, counts.word_counts * 3)
    assert np.array_equal(again.words, usage.words)
    assert np.array_equal(again.ratios, usage.ratios)
    alone = Usage.of(counts, counts.word_counts, collocates=False)
    assert alone.beside(0, "after") == []


def test_arrays_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    counts = some_counts("sides")
    usage = Usage.of(counts, counts.word_counts)
    Usage(usage.frequencies[:-1], usage.words, usage.ratios).save(tmp_path / "usage")
    with pytest.raises(ArtefactError):
        Usage.load(tmp_path / "usage")
