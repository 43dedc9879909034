"""Blocks cover all rows once; lengths and sparse matrices are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from in_threads import in_threads
from qwem._internal.arrays import (
    blocks,
    check_csr,
    cut_evenly,
    even_cuts,
    for_each,
    row_norms,
    stored_blocks,
    unit_rows,
)


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


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_what_scipy_makes_is_accepted(size: int, seed: int) -> None:
    matrix = sparse.random_array((size, size), density=0.4, rng=np.random.default_rng(seed)).tocsr()
    matrix.sort_indices()
    check_csr(matrix.data, matrix.indices, matrix.indptr, size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [0, 5, 1]}, "out of range"),
        ({"indices": [0, -1, 1]}, "out of range"),
        ({"indices": [1, 0, 1]}, "out of order"),
        ({"indices": [0, 0, 1]}, "out of order"),
        ({"indices": [0.0, 1.0, 1.0]}, "not integers"),
        ({"indptr": [0, 3, 2, 3]}, "not in order"),
        ({"indptr": [1, 2, 3, 3]}, "not in order"),
        ({"indptr": [0, 2, 3]}, "not in order"),
        ({"indptr": [0, 2, 3, 9]}, "more or fewer"),
        ({"data": [1.0, 2.0]}, "more or fewer"),
    ],
)
def test_what_is_wrong_is_refused(change: dict[str, Any], message: str) -> None:
    parts = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 1], "indptr": [0, 2, 3, 3]} | change
    with pytest.raises(ValueError, match=message):
        check_csr(np.array(parts["data"]), np.array(parts["indices"]), np.array(parts["indptr"]), 3)


def test_unit_rows_have_length_one_and_zero_rows_stay_zero() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, 0.0], [1e-31, 0.0]], np.float32)
    np.testing.assert_array_equal(row_norms(vectors), [5.0, 0.0, 0.0])
    np.testing.assert_allclose(unit_rows(vectors), [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0]])
    assert unit_rows(vectors).dtype == np.float64
