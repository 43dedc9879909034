"""Sums, differences, restrictions and merges of counts are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from qwem import Cooccurrence, Corpus
from qwem.cooccurrence import PairCounts
from qwem.errors import ArtefactError, CountError, SettingError

WORDS = st.sampled_from([f"w{i}" for i in range(40)])
DOCUMENTS = st.lists(st.lists(WORDS, min_size=1, max_size=20), min_size=2, max_size=8)


@given(DOCUMENTS, st.data())
def test_parts_add_up_to_the_whole_and_subtract_from_it(
    documents: list[list[str]], data: st.DataObject
) -> None:
    corpus = Corpus.from_documents(documents)
    cut = data.draw(st.integers(0, len(corpus)))
    whole = Cooccurrence.count(corpus, 3)
    first = Cooccurrence.count(corpus.documents(0, cut), 3)
    second = Cooccurrence.count(corpus.documents(cut, len(corpus)), 3)
    assert first + second == whole
    assert whole - second == first
    assert whole - first == second
    assert (first + second).fingerprint == whole.fingerprint


@given(DOCUMENTS, DOCUMENTS)
def test_merging_aligns_vocabularies(ours: list[list[str]], theirs: list[list[str]]) -> None:
    merged = Cooccurrence.merge(
        [Cooccurrence.count(Corpus.from_documents(part), 3) for part in (ours, theirs)]
    )
    together = Cooccurrence.count(Corpus.from_documents(ours + theirs), 3)
    assert merged == together


@given(DOCUMENTS, st.data())
def test_restriction_is_a_corner(documents: list[list[str]], data: st.DataObject) -> None:
    counts = Cooccurrence.count(Corpus.from_documents(documents), 3)
    size = data.draw(st.integers(1, len(counts.vocabulary)))
    corner = counts.restrict(size)
    assert corner.vocabulary.words == counts.vocabulary.words[:size]
    assert np.array_equal(corner.symmetric.toarray(), counts.symmetric.toarray()[:size, :size])
    assert np.array_equal(corner.word_counts, counts.word_counts[:size])


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32))
def test_dense_and_sparse_are_the_same_object_outside(size: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(1, 9, (size, size)) * (rng.random((size, size)) < density))
    matrix = upper + np.triu(upper, 1).T
    dense, compressed = (
        PairCounts.from_matrix(matrix),
        PairCounts.from_matrix(sparse.coo_matrix(matrix)),
    )
    assert dense == compressed
    assert dense.is_dense == (np.count_nonzero(matrix) >= 0.25 * size * size)
    for counts in (dense, compressed):
        assert np.array_equal(np.asarray(counts), matrix)
        assert np.array_equal(counts.tocsr().toarray(), matrix)
        assert counts.total == matrix.sum()
        assert counts.nnz == np.count_nonzero(matrix)
        assert np.array_equal(counts.row_sums, matrix.sum(axis=1))
        assert counts[0, size - 1] == matrix[0, size - 1]
    twice = dense + PairCounts.from_matrix(sparse.csr_array(matrix))
    assert np.array_equal(twice.toarray(), 2 * matrix)
    assert twice - dense == dense


def test_a_dense_and_a_sparse_part_add_up() -> None:
    full = np.ones((6, 6), int)
    single = np.zeros((6, 6), int)
    single[2, 2] = 5
    dense, thin = PairCounts.from_matrix(full), PairCounts.from_matrix(single)
    assert dense.is_dense
    assert not thin.is_dense
    assert np.array_equal((dense + thin).toarray(), full + single)
    assert dense + thin == thin + dense
    assert (dense + thin) - dense == thin


@pytest.mark.parametrize("thin", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("sizes", [(4, 7), (7, 4)])
@pytest.mark.parametrize("largest", [9, 2**32 - 1])
def test_counts_of_fewer_words_are_those_of_the_first_ones(
    sizes: tuple[int, int], thin: tuple[bool, bool], largest: int
) -> None:
    parts = []
    for size, is_thin in zip(sizes, thin, strict=True):
        matrix = np.zeros((size, size), np.int64) if is_thin else np.ones((size, size), np.int64)
        matrix[1, 1] = largest
        parts.append(PairCounts.from_matrix(matrix))
        assert parts[-1].is_dense != is_thin
    expected = np.zeros((7, 7), np.int64)
    for part in parts:
        expected[: part.shape[0], : part.shape[0]] += part.toarray()
    total = parts[0] + parts[1]
    assert np.array_equal(total.toarray(), expected)
    assert total == PairCounts.from_matrix(expected)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3), int), "square"),
        (np.array([[0, 1], [2, 0]]), "symmetric"),
        (sparse.csr_array(np.array([[0, 1], [2, 0]])), "symmetric"),
        (np.array([[0, -1], [-1, 0]]), "negative"),
        (np.array([[0, 0.5], [0.5, 0]]), "whole numbers"),
        (np.array([[0, np.nan], [np.nan, 0]]), "whole numbers"),
        (np.array([[0, 2.0**63], [2.0**63, 0]]), "below 2\\^63"),
        (np.array([[True]]), "integers, not bool"),
    ],
)
def test_what_is_not_a_matrix_of_counts_is_refused(matrix: Any, message: str) -> None:
    with pytest.raises(CountError, match=message):
        Cooccurrence.from_matrix([f"w{i}" for i in range(matrix.shape[0])], matrix)


def test_bring_your_own_counts_in_any_order() -> None:
    matrix = np.array([[0, 1, 4], [1, 0, 0], [4, 0, 2]])
    for given_matrix in (matrix, sparse.csr_array(matrix), matrix.astype(float)):
        counts = Cooccurrence.from_matrix(["rare", "rarest", "common"], given_matrix)
        assert counts.vocabulary.words == ("common", "rare", "rarest")
        assert counts["rare", "common"] == 4
        assert counts.word_counts.tolist() == [6, 5, 1]
        assert counts.window is None
    known = Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]], word_counts=[3, 8], weights=[1])
    assert known.vocabulary.words == ("b", "a")
    assert known.word_counts.tolist() == [8, 3]
    assert known.window == 1


def test_a_wrong_number_of_words_is_refused() -> None:
    with pytest.raises(CountError, match="3 words don't fit"):
        Cooccurrence.from_matrix(["a", "b", "c"], [[0, 1], [1, 0]])
    with pytest.raises(SettingError, match="'a' is in the vocabulary twice"):
        Cooccurrence.from_matrix(["a", "a"], [[0, 1], [1, 0]])
    with pytest.raises(CountError, match="as many word counts"):
        Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]], word_counts=[1])


def test_what_does_not_match_says_so() -> None:
    one = Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]], weights=[1])
    other_words = Cooccurrence.from_matrix(["a", "c"], [[0, 1], [1, 0]], weights=[1])
    other_window = Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]], weights=[2, 1])
    with pytest.raises(CountError, match=r"merge aligns them"):
        one + other_words
    with pytest.raises(CountError, match="different windows can't be subtracted"):
        one - other_window
    with pytest.raises(CountError, match="different windows can't be merged"):
        Cooccurrence.merge([other_words, other_window])
    with pytest.raises(CountError, match="not a part"):
        one - (one + one)
    with pytest.raises(CountError, match="nothing to merge"):
        Cooccurrence.merge([])
    with pytest.raises(SettingError, match="between 1 and 2"):
        one.restrict(3)


@pytest.mark.parametrize("words", [3, 60], ids=["dense", "sparse"])
def test_saved_counts_come_back(tmp_path: Any, words: int) -> None:
    corpus = Corpus.from_documents([[f"é{i}" for i in range(words)]] * 2)
    counts = Cooccurrence.count(corpus, 2, subsample=0.9, seed=5)
    counts.save(tmp_path / "counts")
    loaded = Cooccurrence.load(tmp_path / "counts")
    assert loaded == counts
    assert loaded.fingerprint == counts.fingerprint
    assert loaded.sources == counts.sources
    counts.save(tmp_path / "counts")


def test_damaged_counts_are_refused(tmp_path: Any) -> None:
    path = tmp_path / "counts"
    with pytest.raises(ArtefactError, match="no saved cooccurrence"):
        Cooccurrence.load(path)
    counts = Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]])
    counts.save(path)
    arrays = path / "counts.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-3])
    with pytest.raises(ArtefactError, match="damaged"):
        Cooccurrence.load(path)
    counts.save(path)
    (path / "words.txt").write_text("a\n")
    with pytest.raises(ArtefactError, match="2 bytes where 4 were written"):
        Cooccurrence.load(path)
    (path / "words.txt").unlink()
    with pytest.raises(ArtefactError, match="missing"):
        Cooccurrence.load(path)


def test_nothing_else_is_overwritten(tmp_path: Any) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("years of work")
    counts = Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]])
    with pytest.raises(ArtefactError, match="choose another path"):
        counts.save(precious)
    assert (precious / "chapter.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]
