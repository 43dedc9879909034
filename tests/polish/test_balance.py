"""Balanced factors: the same products, equal Gram matrices, word vectors of mean zero."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from in_threads import in_threads
from polish.statistics import random_sides
from qwem.polish.sweep import Turned, balanced


@given(st.integers(0, 1000), st.floats(0.2, 5.0), st.integers(1, 3))
def test_balancing_keeps_all_products(seed: int, scale: float, kinds: int) -> None:
    word, context = random_sides(seed, scale, kinds=kinds)
    rng = np.random.default_rng(seed)
    weights, others = (rng.random(len(side)) + 0.1 for side in (word, context))
    found = in_threads(2, lambda: balanced(Turned.of(word), Turned.of(context), weights, others))
    whole = found.word + found.centre
    np.testing.assert_allclose(
        whole @ found.context.T, word @ context.T, atol=1e-4 * max(1.0, scale**2)
    )
    np.testing.assert_allclose(weights @ found.word, 0, atol=1e-4 * scale * len(word))
    np.testing.assert_allclose(
        (whole.T * weights) @ whole,
        (found.context.T * others) @ found.context,
        atol=1e-3 * scale**2 * len(word) * kinds,
    )
