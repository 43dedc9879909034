"""The smooth part of a shrunken target at large vocabularies: few terms, and how wrong they are."""

from __future__ import annotations

import numpy as np
import pytest

from qwem.errors import ConvergenceError
from qwem.target.building import TOLERANCE, separate


def zipf_counts(size: int, largest: float = 2e6, exponent: float = 1.1) -> np.ndarray:
    return np.maximum(5, np.round(largest / np.arange(1, size + 1) ** exponent))


@pytest.mark.parametrize("alpha", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("exponent", [0.75, 1.0])
def test_unseen_pairs_of_a_large_vocabulary_take_a_handful_of_terms(
    alpha: float, exponent: float
) -> None:
    words = zipf_counts(60_000)
    p = words / words.sum()
    scale = np.sqrt(8e9) * p
    weight = p ** (exponent - 1) / np.sum(p**exponent)
    left = np.stack([scale * weight / 2, scale], axis=1)
    right = np.stack([scale, scale * weight / 2])

    def unseen(expected: np.ndarray) -> np.ndarray:
        return -2 * expected / (expected + alpha)

    terms, signs, error = separate(unseen, left, right, words.astype(np.int64))
    assert terms.shape[1] <= 20
    assert error <= TOLERANCE
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, words.size, (2, 200_000))
    rows[:1000], columns[1000:2000] = np.arange(1000), np.arange(1000)
    plain = unseen(np.einsum("nt,tn->n", left[rows], right[:, columns]))
    found = np.einsum("nt,t,nt->n", terms[rows], signs, terms[columns])
    assert np.abs(found - plain).max() <= 2 * TOLERANCE


def test_a_function_that_is_not_smooth_is_refused() -> None:
    words = np.arange(1, 3001)
    scale = words / 100
    with pytest.raises(ConvergenceError, match="dense=True"):
        separate(lambda e: np.sin(1000 * e), scale[:, None], scale[None, :], words)
