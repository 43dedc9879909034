"""The compiled loops of stochastic training against slow twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from qwem.training import LOGISTIC, QUARTIC
from qwem.training.kernels import (
    draw_words,
    fill_alias,
    fit_centres,
    fit_words,
    lay_out,
    look_up_sparse,
    multiply_pairs,
    sort_pairs,
    weigh_pairs,
)
from training.cases import sides


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
        if (centre := int(out[place])) == gap:
            continue
        for distance in range(-window, window + 1):
            other = centre + distance
            together = 0 <= other < total and document[other] == document[centre]
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
    centres, contexts = (rng.integers(0, 6, 20).astype(np.int32) for _ in range(2))
    expected = dense[centres, contexts]
    found = np.empty(20)
    look_up_sparse(rows.indptr, rows.indices, rows.data, centres, contexts, found)
    np.testing.assert_array_equal(found, expected)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_pairs_are_sorted_by_word(words: list[int]) -> None:
    keys, order, starts = np.array(words, np.int32), np.empty(len(words), int), np.empty(8, int)
    sort_pairs(keys, order, starts)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(np.diff(starts), np.bincount(keys, minlength=7))


class Pairs:
    """Some pairs of 7 words, sorted by centre, some words without any, and one with many."""

    def __init__(self, dtype: Any, dim: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.left, self.right = rng.standard_normal((2, 7, dim)).astype(dtype)
        self.centres = np.sort(np.append(rng.choice([0, 2, 3, 6], 20), [5] * 37)).astype(np.int32)
        self.contexts = rng.choice([0, 1, 4, 6], len(self.centres)).astype(np.int32)
        self.is_positive = rng.random(len(self.centres)) < 0.5
        self.weights = rng.random(len(self.centres)).astype(dtype)
        self.starts = np.searchsorted(self.centres, np.arange(8)).astype(np.int32)

    def matrix(self, slopes: Any) -> Any:
        """What many pairs of the same words come to together."""
        matrix = np.zeros((7, 7))
        np.add.at(matrix, (self.centres, self.contexts), slopes)
        return matrix


@pytest.mark.parametrize("moves", [True, False], ids=["step", "gradient"])
@pytest.mark.parametrize("dim", [1, 5, 33])
@pytest.mark.parametrize("loss", [LOGISTIC, QUARTIC], ids=lambda loss: loss.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_are_fitted(dtype: Any, loss: Any, dim: int, moves: bool) -> None:
    pairs = Pairs(dtype, dim)
    slopes, out = np.empty(len(pairs.centres), dtype), np.full((7, dim), np.nan, dtype)
    losses, norms = np.empty((2, 7))
    batch = pairs.contexts, pairs.weights, pairs.is_positive, pairs.starts
    results = slopes, losses, norms, out
    for words in ((0, 3), (3, 7)):
        fit_centres(pairs.left, pairs.right, *batch, words, loss is LOGISTIC, 0.3, moves, *results)
    x = (pairs.left.astype(float) @ pairs.right.T)[pairs.centres, pairs.contexts]

    def costs(x: Any) -> Any:
        plus, minus = sides(loss, x)
        return pairs.weights * np.where(pairs.is_positive, plus, minus)

    slow = (costs(x + 1e-4) - costs(x - 1e-4)) / 2e-4
    gradient = pairs.matrix(slow) @ pairs.right
    expected = pairs.left - 0.3 * gradient if moves else gradient
    close: Any = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"atol": 1e-6}
    np.testing.assert_allclose(slopes, slow, **close)
    np.testing.assert_allclose(out, expected, **close)
    np.testing.assert_allclose(norms, np.sum(gradient**2, axis=1), **close)
    np.testing.assert_allclose(losses, np.bincount(pairs.centres, costs(x), 7), **close)


@pytest.mark.parametrize("moves", [True, False], ids=["step", "gradient"])
@pytest.mark.parametrize("adds", [True, False], ids=["on-top", "alone"])
def test_gradients_of_context_words_equal_a_matrix_product(adds: bool, moves: bool) -> None:
    pairs = Pairs(np.float64, 5)
    slopes = np.random.default_rng(1).standard_normal(len(pairs.centres))
    order, starts = np.empty(len(slopes), np.int32), np.empty(8, np.int32)
    sort_pairs(pairs.contexts, order, starts)
    out, norms = np.random.default_rng(2).standard_normal((7, 5)), np.empty(7)
    gradient = pairs.matrix(slopes).T @ pairs.left + (out if adds else 0)
    for words in ((0, 4), (4, 7)):
        fit_words(
            pairs.right,
            pairs.left,
            pairs.centres[order],
            slopes[order],
            starts,
            words,
            0.3,
            moves,
            adds,
            norms,
            out,
        )
    np.testing.assert_allclose(out, pairs.right - 0.3 * gradient if moves else gradient)
    np.testing.assert_allclose(norms, np.sum(gradient**2, axis=1))


def test_pairs_are_multiplied() -> None:
    pairs = Pairs(np.float64, 5)
    products = np.empty(len(pairs.centres))
    for words in ((0, 3), (3, 7)):
        multiply_pairs(pairs.left, pairs.right, pairs.contexts, pairs.starts, words, products)
    expected = (pairs.left @ pairs.right.T)[pairs.centres, pairs.contexts]
    np.testing.assert_allclose(products, expected)


@given(st.integers(0, 1000), st.booleans())
def test_weights_of_pairs(seed: int, normalized: bool) -> None:
    rng = np.random.default_rng(seed)
    plus, minus = rng.random((2, 6)) + 0.1
    left, right = rng.random((2, 6, 2))
    centres, contexts = (rng.integers(0, 6, 20).astype(np.int32) for _ in range(2))
    is_positive = rng.random(20) < 0.5
    seen, found = rng.random(20), np.empty(20)
    expected = (left @ right.T)[centres, contexts]
    positive, negative = (np.outer(u, u)[centres, contexts] for u in (plus, minus))
    weights = np.where(is_positive, positive, negative * expected)
    weights /= 0.5 * seen + 1.5 * expected if normalized else 1
    seen = seen if normalized else np.empty(0)
    curvature = 0.5, 1.5
    weigh_pairs(centres, contexts, is_positive, plus, minus, left, right, seen, curvature, found)
    np.testing.assert_allclose(found, weights)
