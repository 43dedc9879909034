"""Words against fixed contexts: each at the minimum of its own problem."""

from __future__ import annotations

import numpy as np
import pytest

from qwem import Cooccurrence
from qwem.errors import SettingError
from qwem.polish import FixedContexts, solve_row, solve_words
from qwem.polish.loss import Word2vecLoss

WORDS, DIM = 30, 4


def statistics() -> tuple[Cooccurrence, np.ndarray]:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.poisson(rng.gamma(0.5, 8, (WORDS, WORDS))))
    counts = Cooccurrence.from_matrix([f"w{i:02}" for i in range(WORDS)], upper + upper.T)
    return counts, rng.normal(0, 0.5, (WORDS, DIM)).astype(np.float32)


def test_each_word_is_at_the_minimum_that_newton_finds() -> None:
    counts, context = statistics()
    coupling = np.linspace(1, 2, WORDS)
    loss = Word2vecLoss(counts, negatives=5.0, exponent=0.75, coupling=coupling)
    nothing = np.zeros((DIM, DIM)), np.zeros(DIM)
    fixed = FixedContexts(context, loss.bias, loss.noise, loss.coupling, 5.0, *nothing)
    matrix = counts.pair_counts.tocsr()
    expected = [
        solve_row(fixed, matrix[[i]].indices, matrix[[i]].data.astype(float)).vector
        for i in range(WORDS)
    ]
    found = solve_words(counts, context, evidence=0.0, coupling=coupling, steps=500, tol=0.0)
    assert np.allclose(found, expected, atol=2e-3)
    start = np.array(expected, dtype=np.float32)
    again = solve_words(counts, context, start, evidence=0.0, coupling=coupling, steps=1)
    assert np.allclose(again, expected, atol=2e-3)


def test_threads_do_not_matter_and_shapes_do() -> None:
    counts, context = statistics()
    one, two = (solve_words(counts, context, threads=threads) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()
    with pytest.raises(SettingError, match="30 words need as many rows on both sides"):
        solve_words(counts, context[:9])
