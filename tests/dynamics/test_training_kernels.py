"""The compiled loops of stochastic training against slow twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from qwem.dynamics.training.kernels import (
    add_gradients,
    draw_words,
    fill_alias,
    lay_out,
    look_up_dense,
    look_up_sparse,
    multiply_pairs,
    sort_pairs,
    weigh_pairs,
)


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=6).filter(any),
    window=st.integers(1, 3),
    data=st.data(),
)
def test_documents_are_laid_out_with_gaps(
    lengths: list[int], window: int, data: st.DataObject
) -> None:
    total, gap = sum(lengths), 50
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.arange(total, dtype=np.uint16)
    start = data.draw(st.integers(0, total - 1))
    stop = data.draw(st.integers(start + 1, total))
    first, last = max(0, start - window), min(total, stop + window)
    out = np.full(total + window * (len(offsets) + 3), 99, np.uint16)
    begin, end = lay_out(tokens[first:last], offsets, first, start, stop, gap, window, out)

    laid = [t for t in out[begin:end].tolist() if t != gap]
    assert laid == list(range(start, stop))
    document = np.searchsorted(offsets, np.arange(total), side="right")
    for place in range(begin, end):
        if (center := int(out[place])) == gap:
            continue
        for distance in range(-window, window + 1):
            other = center + distance
            together = 0 <= other < total and document[other] == document[center]
            assert out[place + distance] == (other if together else gap)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_alias_tables_keep_the_distribution(weights: list[float]) -> None:
    probability = np.array(weights) / np.sum(weights)
    size = len(probability)
    limit, alias = np.empty(size), np.empty(size, np.int32)
    fill_alias(probability, limit, alias)
    chance = limit / size
    np.add.at(chance, alias, (1 - limit) / size)
    np.testing.assert_allclose(chance, probability, rtol=1e-9, atol=1e-12)
    drawn = np.empty(50, np.int32)
    draw_words(np.uint64(2**63 + 5), limit, alias, drawn)
    assert drawn.min() >= 0
    assert drawn.max() < size


@given(st.integers(0, 1000))
def test_counts_are_looked_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = (rng.random((6, 6)) < 0.4) * rng.integers(1, 100, (6, 6))
    rows = sparse.csr_array(dense.astype(np.uint32))
    centers, contexts = (rng.integers(0, 6, 20).astype(np.int32) for _ in range(2))
    expected = dense[centers, contexts]
    found = np.empty(20)
    look_up_dense(dense.astype(np.uint32), centers, contexts, found)
    np.testing.assert_array_equal(found, expected)
    look_up_sparse(rows.indptr, rows.indices, rows.data, centers, contexts, found)
    np.testing.assert_array_equal(found, expected)


def test_products_and_gradients_of_pairs() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 7, 5))
    centers, contexts = (rng.integers(0, 7, 40).astype(np.int32) for _ in range(2))
    slopes, products = rng.standard_normal(40), np.empty(40)
    by_center, by_context = ((np.empty(40, np.int32), np.empty(8, np.int32)) for _ in range(2))
    sort_pairs(centers, *by_center)
    sort_pairs(contexts, *by_context)
    np.testing.assert_array_equal(by_center[0], np.argsort(centers, kind="stable"))
    np.testing.assert_array_equal(np.diff(by_center[1]), np.bincount(centers, minlength=7))

    multiply_pairs(left, right, centers, contexts, by_center[0], products)
    np.testing.assert_allclose(products, (left @ right.T)[centers, contexts])
    matrix = np.zeros((7, 7))
    np.add.at(matrix, (centers, contexts), slopes)
    into_left, into_right = np.zeros((2, 7, 5))
    for first, last in ((0, 3), (3, 7)):
        add_gradients(right, contexts, slopes, *by_center, first, last, into_left)
        add_gradients(left, centers, slopes, *by_context, first, last, into_right)
    np.testing.assert_allclose(into_left, matrix @ right)
    np.testing.assert_allclose(into_right, matrix.T @ left)


@given(st.integers(0, 1000), st.booleans(), st.booleans())
def test_weights_of_pairs(seed: int, negative: bool, normalised: bool) -> None:
    rng = np.random.default_rng(seed)
    factor, left, right = rng.random(6) + 0.1, rng.random((6, 2)), rng.random((6, 2))
    centers, contexts = (rng.integers(0, 6, 20).astype(np.int32) for _ in range(2))
    seen, found = rng.random(20), np.empty(20)
    expected = (left @ right.T)[centers, contexts]
    weights = 3 * np.outer(factor, factor)[centers, contexts]
    weights *= expected if negative else 1
    weights /= 0.5 * seen + 1.5 * expected if normalised else 1
    seen = seen if normalised else np.empty(0)
    weigh_pairs(centers, contexts, factor, 3.0, left, right, seen, (0.5, 1.5), negative, found)
    np.testing.assert_allclose(found, weights)
