"""M* of asymmetric weights, entry by entry, and as the minimum of word2vec's weighting."""

from __future__ import annotations

import numpy as np
import pytest

from qwem.target import asymmetric_mstar, mstar, negative_sampling, setting31, subsampling
from target.count_matrices import random_counts


@pytest.mark.parametrize("dense", [True, False])
def test_entries_are_those_of_the_formula(dense: bool) -> None:
    counts = random_counts(30, density=0.4)
    reweighting = setting31() * negative_sampling(0.75, 2.0, None) * subsampling(0.05)
    made = asymmetric_mstar(counts, reweighting, dtype=np.float64, dense=dense)
    found = made @ np.eye(30)
    pairs = counts.symmetric.toarray() / counts.symmetric.total
    words = counts.word_counts / counts.word_counts.sum()
    power = words**0.75 / np.sum(words**0.75)
    for i in range(30):
        for j in range(30):
            negative = 2.0 * words[i] * power[j]
            expected = 2 * (pairs[i, j] - negative) / (pairs[i, j] + negative)
            assert found[i, j] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(made.T @ np.eye(30), found.T, atol=1e-12)
    assert not np.allclose(found, found.T)


def test_symmetric_weights_give_mstar() -> None:
    counts = random_counts(20)
    np.testing.assert_allclose(
        asymmetric_mstar(counts, dtype=np.float64), mstar(counts, dtype=np.float64).toarray()
    )
