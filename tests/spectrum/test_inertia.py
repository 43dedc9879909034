"""The number of non-negative eigenvalues is that of the eigenvalues themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwem import Cooccurrence, Corpus, Target, mstar
from qwem.spectrum import count_nonnegative
from spectrum.matrices import mstar_like, with_eigenvalues, words


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30), st.integers(0, 5))
def test_it_counts_positive_and_zero_eigenvalues(values: list[int], seed: int) -> None:
    matrix = with_eigenvalues(values, seed)
    target = Target.from_matrix(words(len(values)), matrix)
    assert count_nonnegative(target) == sum(value >= 0 for value in values)


def test_nonnegative_eigenvalues_of_a_matrix_like_mstar_are_counted() -> None:
    matrix = mstar_like(201)
    expected = int(np.sum(np.linalg.eigvalsh(matrix) >= 0))
    assert count_nonnegative(Target.from_matrix(words(201), matrix)) == expected


@pytest.mark.parametrize("coupling", [None, -0.5])
def test_a_rank_one_coupling_leaves_the_count_as_it_is(
    text_corpus: Corpus, coupling: float | None
) -> None:
    corpus = text_corpus.restrict(400)
    counts = Cooccurrence.count(corpus, window=16)
    plain = mstar(counts, dtype=np.float64).toarray()
    expected = int(np.sum(np.linalg.eigvalsh(plain) >= 0))
    weights = None
    if coupling is not None:
        weights = np.arange(1.0, 401.0) ** coupling
    target = Target.from_matrix(corpus.vocabulary, plain, coupling=weights)
    assert count_nonnegative(target) == expected
    assert 100 < expected < 300
