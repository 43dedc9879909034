"""The sign of each eigenvector follows the rule, and not the solver or the luck of the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from qwem.spectrum import factorize
from qwem.spectrum.spectrum import fix_signs
from spectrum.matrices import matrix_of, mstar_like, words

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


@pytest.mark.parametrize("case", ["fast decay", "slow decay", "like M*"])
def test_sums_of_cubes_are_positive(case: str, method: Method) -> None:
    matrix, dim = matrix_of(case)
    vectors = factorize(matrix, dim, words=words(len(matrix)), method=method).eigenvectors
    assert np.all((vectors.astype(np.float64) ** 3).sum(axis=0) > 0)


def test_solvers_agree_on_signs() -> None:
    matrix = mstar_like(500)
    one = factorize(matrix, 5, words=words(500), method="lapack").eigenvectors
    other = factorize(matrix, 5, words=words(500), method="krylov", tol=1e-5, seed=7).eigenvectors
    assert np.all((one * other).sum(axis=0) > 0.99)


def test_balanced_vectors_start_with_a_positive_large_entry() -> None:
    balanced = np.array([[0.01, -0.7, 0.7], [0.01, 0.7, -0.7]]).T
    balanced[0] = 0
    fixed = fix_signs(balanced)
    np.testing.assert_array_equal(fixed[:, 0], fixed[:, 1])
    assert fixed[1, 0] > 0


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.floats(-1, 1, allow_subnormal=False),
    )
)
def test_flipping_the_input_changes_nothing(vectors: np.ndarray) -> None:
    np.testing.assert_array_equal(fix_signs(vectors), fix_signs(-vectors))
    np.testing.assert_array_equal(np.abs(fix_signs(vectors)), np.abs(vectors))
