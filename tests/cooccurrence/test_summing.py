"""Sums of saved counts: the same as of the counts themselves, whatever their form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwem import Cooccurrence
from qwem.cooccurrence import add_rows, add_saved, saved_rows, saved_sources
from qwem.errors import ArtefactError, CountError

if TYPE_CHECKING:
    from pathlib import Path


def counts_of(size: int, share: float, seed: int, largest: int = 9) -> Cooccurrence:
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(1, largest, (size, size)) * (rng.random((size, size)) < share))
    words = [f"w{i:03}" for i in range(size)]
    return Cooccurrence.from_matrix(words, half + np.triu(half, 1).T, np.arange(size, 0, -1))


@given(shares=st.lists(st.sampled_from([0.0, 0.05, 0.9]), min_size=1, max_size=5))
def test_the_sum_is_that_of_the_counts(
    shares: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sums")
    parts = [counts_of(30, share, seed) for seed, share in enumerate(shares)]
    paths = [folder / str(number) for number in range(len(parts))]
    for part, path in zip(parts, paths, strict=True):
        part.save(path)
    expected = Cooccurrence.merge(parts)
    found = add_saved(paths, threads=2)
    assert found == expected
    assert found.symmetric.is_dense == expected.symmetric.is_dense
    assert found.sources == expected.sources


@pytest.mark.parametrize("share", [0.1, 0.9], ids=["sparse", "dense"])
def test_rows_are_added_as_whole_counts_are(share: float, tmp_path: Path) -> None:
    """From whole counts, from rows that were added before, and from both."""
    parts = [counts_of(30, share, seed) for seed in range(3)]
    for number, part in enumerate(parts):
        part.save(tmp_path / str(number))
    expected = Cooccurrence.merge(parts)
    for first, last in ((0, 30), (7, 19), (29, 30), (5, 5)):
        some = tmp_path / f"{first}-{last}"
        add_rows([tmp_path / "0", tmp_path / "1"], first, last, some)
        found = saved_rows([some, tmp_path / "2"], first, last)
        whole: Any = expected.symmetric.toarray()
        assert np.array_equal(found.pairs[0].toarray(), whole[first:last])
        assert np.array_equal(found.word_counts, expected.word_counts[first:last])
        assert saved_sources([some, tmp_path / "2"])[1] == list(expected.sources)
    file = some / "counts.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x07")
    with pytest.raises(ArtefactError, match=r"counts\.safetensors is damaged"):
        saved_rows([some], first, last)


def test_counts_beyond_32_bits(tmp_path: Path) -> None:
    large = counts_of(4, 1.0, 0, largest=2**32 - 1)
    large.save(tmp_path / "a")
    found = add_saved([tmp_path / "a"] * 3)
    assert large.symmetric.dtype == np.uint32
    assert found.symmetric.dtype == np.uint64
    assert found == large + large + large


def test_what_does_not_fit_together(tmp_path: Path) -> None:
    matrix: Any = [[1, 2], [2, 1]]
    for name, words, weights in (("a", "xy", [1]), ("b", "xz", [1]), ("c", "xy", [2, 1])):
        Cooccurrence.from_matrix(list(words), matrix, weights=weights).save(tmp_path / name)
    with pytest.raises(CountError, match="different vocabularies"):
        add_saved([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(CountError, match="count both with the same window and slots"):
        add_saved([tmp_path / "a", tmp_path / "c"])
    with pytest.raises(CountError, match="There are no counts to add"):
        add_saved([])
    file = tmp_path / "b" / "counts.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x07")
    with pytest.raises(ArtefactError, match=r"counts\.safetensors is damaged"):
        add_saved([tmp_path / "b", tmp_path / "b"])
