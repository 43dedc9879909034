"""Sums, differences, restrictions and merges of counts are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from in_threads import in_threads
from qwem import Cooccurrence, Corpus, Vocabulary
from qwem.cooccurrence import Slot
from qwem.cooccurrence._rows import Rows
from qwem.cooccurrence.pair_counts import PairCounts
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
    assert dense.is_dense == (np.count_nonzero(matrix) >= 0.5 * size * size)
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


def counts_of(size: int, share: float, seed: int, largest: int = 9) -> Cooccurrence:
    """Counts in two slots, of which the second is symmetric."""
    rng = np.random.default_rng(seed)
    after, around = (
        rng.integers(1, largest, (size, size)) * (rng.random((size, size)) < share)
        for _ in range(2)
    )
    matrices = (
        PairCounts.from_matrix(after, symmetric=False),
        PairCounts.from_matrix(np.triu(around) + np.triu(around, 1).T),
    )
    words = Vocabulary(tuple(f"w{i:03}" for i in range(size)), np.arange(size, 0, -1))
    return Cooccurrence(words, matrices, (Slot((2, 1)), Slot((1,), directed=False)), ({"n": seed},))


def slow_arrays(counts: Cooccurrence) -> list[dict[tuple[str, str], int]]:
    """The counts of each slot by pairs of words."""
    words = counts.vocabulary.words
    return [
        {(words[i], words[j]): int(array[i, j]) for i, j in zip(*np.nonzero(array), strict=True)}
        for array in (matrix.toarray() for matrix in counts.matrices)
    ]


@given(
    st.integers(1, 14),
    st.sampled_from([0.05, 0.9]),
    st.lists(st.integers(0, 19), unique=True, min_size=1),
    st.integers(0, 99),
)
def test_reindexing_takes_words_with_their_counts(
    size: int, share: float, order: list[int], seed: int
) -> None:
    counts = counts_of(size, share, seed)
    words = [f"w{i:03}" for i in order]
    found = counts.reindex(words)
    assert found.vocabulary.words == tuple(words)
    for slot, before in zip(slow_arrays(found), slow_arrays(counts), strict=True):
        assert slot == {pair: often for pair, often in before.items() if {*pair} <= {*words}}
    assert dict(zip(words, found.word_counts.tolist(), strict=True)) == {
        word: dict(zip(counts.vocabulary, counts.word_counts, strict=True)).get(word, 0)
        for word in words
    }
    for matrix in found.matrices:
        assert matrix == PairCounts.from_matrix(matrix.toarray(), symmetric=False)


@given(
    shares=st.lists(st.sampled_from([0.0, 0.05, 0.9]), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 30), min_size=5, max_size=5),
    same_words=st.booleans(),
    threads=st.integers(1, 3),
)
def test_saved_counts_merge_as_counts_do(
    shares: list[float],
    sizes: list[int],
    same_words: bool,
    threads: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("sums")
    parts = [
        counts_of(30 if same_words else sizes[seed], share, seed)
        for seed, share in enumerate(shares)
    ]
    for number, part in enumerate(parts):
        part.save(folder / str(number))
    expected: list[dict[tuple[str, str], int]] = [{}, {}]
    for part in parts:
        for total, slot in zip(expected, slow_arrays(part), strict=True):
            for pair, often in slot.items():
                total[pair] = total.get(pair, 0) + often
    merged = in_threads(threads, lambda: Cooccurrence.merge(parts))
    assert slow_arrays(merged) == expected
    found = in_threads(
        threads, lambda: Cooccurrence.merge([folder / str(k) for k in range(len(parts))])
    )
    assert found == merged
    assert found.sources == merged.sources == tuple({"n": k} for k in range(len(parts)))
    mixed = Cooccurrence.merge([folder / "0", *parts[1:]])
    assert mixed == merged
    for k in range(len(parts)):
        rest = merged - parts[k]
        others = [part for number, part in enumerate(parts) if number != k]
        if others:
            assert rest == Cooccurrence.merge(others).reindex(merged.vocabulary.words)


@given(st.integers(1, 12), st.sampled_from([0.05, 0.9]), st.integers(1, 4))
def test_a_multiple_is_a_sum(size: int, share: float, times: int) -> None:
    counts = counts_of(size, share, 3)
    assert counts * times == Cooccurrence.merge([counts] * times)
    assert (counts * 2**40).word_counts.tolist() == [2**40 * n for n in counts.word_counts.tolist()]


@pytest.mark.parametrize("share", [0.05, 1.0], ids=["sparse", "dense"])
def test_counts_beyond_32_bits_are_exact_in_every_operation(share: float, tmp_path: Any) -> None:
    large = counts_of(30, share, 0, largest=2**32 - 1)
    large.save(tmp_path / "a")
    found = Cooccurrence.merge([tmp_path / "a"] * 3)
    assert {matrix.dtype for matrix in large.matrices} == {np.dtype(np.uint32)}
    assert {matrix.dtype for matrix in found.matrices} == {np.dtype(np.uint64)}
    assert found == large + large + large == large * 3
    assert found - large - large == large
    wide = large.matrices[0].toarray().astype(object)
    symmetric = (large * 2).matrices[0].symmetrized()
    assert np.array_equal(symmetric.toarray(), 2 * (wide + wide.T))


@pytest.mark.parametrize("size", [1, 9], ids=["dense", "sparse"])
@pytest.mark.parametrize("directed", [False, True])
def test_sums_that_would_wrap_are_refused(size: int, directed: bool, tmp_path: Any) -> None:
    matrix = np.zeros((size, size), np.int64)
    matrix[0, 0] = 2**62
    words = [f"w{i}" for i in range(size)]
    counts = Cooccurrence.from_matrix(words, matrix, np.ones(size), directed=directed)
    counts.save(tmp_path / "counts")
    for fail in (
        lambda: counts + counts,
        lambda: counts * 2,
        lambda: Cooccurrence.merge([tmp_path / "counts"] * 2),
        lambda: counts.matrices[0].symmetrized(),
    ):
        with pytest.raises(CountError, match=r"would reach 2\^63"):
            fail()
    if directed:
        with pytest.raises(CountError, match=r"would reach 2\^63"):
            _ = counts.symmetric
    assert (counts - counts).matrices[0].total == 0
    matrix[-1, -1] = 2**62
    if size > 1:
        with pytest.raises(CountError, match=r"would reach 2\^63"):
            Cooccurrence.from_matrix(words, matrix)
    many = Cooccurrence.from_matrix(["a"], [[1]], [2**62])
    for fail in (lambda: many + many, lambda: many * 2):
        with pytest.raises(CountError, match=r"would reach 2\^63"):
            fail()


def test_directed_counts_of_your_own() -> None:
    after = np.array([[0, 7, 1], [2, 0, 0], [0, 0, 5]])
    for matrix in (after, sparse.csr_array(after)):
        counts = Cooccurrence.from_matrix(["a", "b", "c"], matrix, directed=True)
        assert counts.vocabulary.words == ("c", "a", "b")
        assert counts.word_counts.tolist() == [11, 10, 9]
        assert counts.after("a").tolist() == [1, 0, 7]
        assert counts.before("a").tolist() == [0, 0, 2]
        assert counts["a", "b"] == counts["b", "a"] == 9
        assert counts["c", "c"] == 10
        assert counts.slots == (Slot(None),)


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
    with pytest.raises(CountError, match="not a part of these, which don't have the words c"):
        one - other_words
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


@pytest.mark.parametrize(
    "changes",
    [
        {"pairs.0": np.ones(4, np.uint32)},
        {"pairs.0": np.ones((2, 1), np.uint32)},
        {"pairs.0": np.ones((3, 3), np.uint32)},
        {"pairs.0": np.full((2, 2), -1)},
        {"pairs.0": np.ones((2, 2))},
        {"pairs.0": np.full((2, 2), 2**62, np.uint64)},
        {"pairs.0": None},
        {"pairs.0": None, "pairs.1": np.ones((2, 2), np.uint32)},
        {"word_counts": np.ones(3, np.int64)},
        {"word_counts": None},
    ],
)
def test_files_of_another_shape_are_refused(tmp_path: Any, changes: dict[str, Any]) -> None:
    """Even where all digests are those of the files."""
    counts = Cooccurrence.from_matrix(["a", "b"], [[1, 1], [1, 1]], weights=[1])
    arrays = {**counts._arrays(), **changes}
    with pytest.MonkeyPatch.context() as patch:
        kept = {name: array for name, array in arrays.items() if array is not None}
        patch.setattr(Cooccurrence, "_arrays", lambda _: kept)
        counts.save(tmp_path / "counts")
    for read in (Cooccurrence.load, lambda path: Cooccurrence.merge([path, path])):
        with pytest.raises(ArtefactError, match="damaged"):
            read(tmp_path / "counts")


def test_nothing_else_is_overwritten(tmp_path: Any) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("years of work")
    counts = Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]])
    with pytest.raises(ArtefactError, match="choose another path"):
        counts.save(precious)
    assert (precious / "chapter.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_sums_of_sums_do_not_see_the_room_that_rows_had() -> None:
    """Room for more entries holds whatever was in memory before, also numbers near 2⁶⁴."""
    matrix = sparse.csr_array(np.eye(3, dtype=np.uint32))
    room = Rows.with_room

    def with_garbage(rows: int, entries: int, dtype: np.dtype[Any]) -> Rows:
        garbage = np.full(entries, np.iinfo(dtype).max, dtype)
        return room(rows, entries, dtype)._replace(values=garbage)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rows, "with_room", staticmethod(with_garbage))
        rows = Rows.of(matrix, 0, 3)
        total = rows + rows + rows
        assert (total + total - rows).tocsr(3).toarray().tolist() == (5 * np.eye(3)).tolist()
        assert total.values.dtype == np.uint32
