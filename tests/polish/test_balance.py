"""Balanced factors: the same logits, equal Gram matrices, word vectors of mean zero."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polish.statistics import random_sides
from qwem.polish.balance import balanced


@given(st.integers(0, 1000), st.floats(0.2, 5.0))
def test_balance(seed: int, scale: float) -> None:
    word, context = random_sides(seed, scale)
    rng = np.random.default_rng(seed)
    bias, weights = rng.normal(size=len(word)), rng.random(len(word)) + 0.1
    found = balanced(word, context, bias, weights, 2)
    np.testing.assert_allclose(
        found.word @ found.context.T + found.bias,
        word @ context.T + bias,
        atol=1e-4 * max(1.0, scale**2),
    )
    np.testing.assert_allclose(weights @ found.word, 0, atol=1e-4 * scale * len(word))
    mean = (found.bias - bias) @ np.linalg.pinv(found.context.astype(np.float64)).T
    whole = found.word + mean
    np.testing.assert_allclose(
        (whole.T * weights) @ whole,
        (found.context.T * weights) @ found.context,
        atol=1e-3 * scale**2 * len(word),
    )
