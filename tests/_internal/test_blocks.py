"""Blocks cover every row once, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from in_threads import in_threads
from qwem._internal.blocks import blocks, cut_evenly, even_cuts, for_each, stored_blocks


@given(st.integers(0, 50), st.integers(0, 10), st.integers(1, 40))
def test_blocks_cover_every_item_once(count: int, each: int, most: int) -> None:
    slices = blocks(count, each, most=most)
    assert [i for part in slices for i in range(part.start, part.stop)] == list(range(count))
    assert all((part.stop - part.start) * each <= max(most, each) for part in slices)


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_runs_cover_every_row_once(lengths: list[int], pieces: int) -> None:
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    runs = cut_evenly(ends, pieces)
    assert [i for run in runs for i in range(*run)] == list(range(len(lengths)))
    assert len(runs) <= pieces
    slices = stored_blocks(ends)
    assert [i for part in slices for i in range(part.start, part.stop)] == list(range(len(lengths)))


def test_parts_are_even() -> None:
    assert np.diff(even_cuts(3, 103, 7)).tolist() == [14, 14, 14, 15, 14, 14, 15]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_on_a_thread_is_raised(threads: int) -> None:
    done = np.zeros(10)

    def work(rows: slice) -> None:
        done[rows] += 1
        if rows.start == 6:
            raise RuntimeError("row 6")

    with pytest.raises(RuntimeError, match="row 6"):
        in_threads(threads, lambda: for_each(work, blocks(10, most=3)))
    in_threads(
        threads, lambda: for_each(lambda rows: done.__setitem__(rows, 5), blocks(10, most=3))
    )
    assert (done == 5).all()
