"""Every target against the plain dense formula in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from in_threads import in_threads
from qwem.errors import SettingError
from qwem.target import (
    Target,
    contrastive_target,
    mstar,
    negative_sampling,
    pmi,
    ppmi,
    rank_one,
    setting31,
    simclr_target,
)
from qwem.target.reweighting import unweighted
from target.count_matrices import cooccurrences, from_triangle, probabilities, random_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from qwem.cooccurrence import Cooccurrence

either_form = pytest.mark.parametrize("dense", [True, False])
any_type = pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-6)])


def assert_close(target: Target, plain: Any, error: float) -> None:
    np.testing.assert_allclose(target.toarray(), plain, rtol=error, atol=error)


@either_form
@any_type
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), negatives=st.floats(0.1, 20))
def test_mstar(
    counts: Cooccurrence, negatives: float, dense: bool, dtype: Any, error: float
) -> None:
    p, pp = probabilities(counts)
    target = mstar(counts, negatives=negatives, dtype=dtype, dense=dense)
    assert target.is_dense == dense
    assert target.dtype == dtype
    assert_close(target, 2 * (p - negatives * pp) / (p + negatives * pp), 2 * error)


@either_form
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences())
def test_mstar_is_symmetric_within_two_and_minus_two_where_unseen(
    counts: Cooccurrence, dense: bool
) -> None:
    matrix = mstar(counts, dense=dense, dtype=np.float64).toarray()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.all(np.abs(matrix) <= 2 + 1e-12)
    unseen = counts.symmetric.toarray() == 0
    np.testing.assert_allclose(matrix[unseen], -2, atol=1e-12)
    assert np.all(mstar(counts, dense=dense).toarray()[unseen] == -2)


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), shrinkage=st.floats(0.01, 1e4))
def test_shrinkage(counts: Cooccurrence, shrinkage: float) -> None:
    p, pp = probabilities(counts)
    total = counts.symmetric.total
    plain = 2 * total * (p - pp) / (total * (p + pp) + shrinkage)
    assert_close(mstar(counts, shrinkage=shrinkage, dtype=np.float64, dense=True), plain, 1e-12)
    assert_close(mstar(counts, shrinkage=shrinkage, dtype=np.float64, dense=False), plain, 1e-5)


@either_form
@any_type
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), floor=st.sampled_from([1e-25, 1e-3, 1.0]))
def test_pmi(counts: Cooccurrence, floor: float, dense: bool, dtype: Any, error: float) -> None:
    p, pp = probabilities(counts)
    target = pmi(counts, floor=floor, dtype=dtype, dense=dense)
    # A sparse entry is the difference to that of an unseen pair, which may be 60 times larger.
    assert_close(target, np.log(p / pp + floor), 60 * error)


@either_form
@any_type
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), shift=st.floats(-1, 3))
def test_ppmi(counts: Cooccurrence, shift: float, dense: bool, dtype: Any, error: float) -> None:
    p, pp = probabilities(counts)
    plain = np.maximum(np.log(np.where(p > 0, p, 1e-300) / pp) - shift, 0)
    assert_close(ppmi(counts, shift, dtype=dtype, dense=dense), plain, 2 * error)


@either_form
@any_type
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), beta=st.floats(0.1, 10))
def test_simclr(counts: Cooccurrence, beta: float, dense: bool, dtype: Any, error: float) -> None:
    p, pp = probabilities(counts)
    plain = (p / pp - 1) / beta
    target = simclr_target(counts, beta, dtype=dtype, dense=dense)
    np.testing.assert_allclose(target.toarray(), plain, rtol=error, atol=20 * error)


@either_form
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), exponent=st.floats(0, 1), k=st.floats(0.5, 10))
@pytest.mark.parametrize("symmetrize", ["geometric", "arithmetic"])
def test_targets_under_smoothed_negatives(
    counts: Cooccurrence, exponent: float, k: float, symmetrize: Any, dense: bool
) -> None:
    p, _ = probabilities(counts)
    words = counts.word_counts / counts.word_counts.sum()
    sampled = k * np.outer(words, words**exponent / np.sum(words**exponent))
    mean = {
        "geometric": np.sqrt(sampled * sampled.T),
        "arithmetic": (sampled + sampled.T) / 2,
    }[symmetrize]
    reweighting = setting31() * negative_sampling(exponent, k, symmetrize)
    options: dict[str, Any] = {"reweighting": reweighting, "dtype": np.float64, "dense": dense}
    assert_close(mstar(counts, **options), 2 * (p - mean) / (p + mean), 1e-10)
    assert_close(pmi(counts, **options), np.log(p / mean + 1e-25), 1e-10)
    shrunk = counts.symmetric.total * (p + mean) + 3.0
    plain = 2 * counts.symmetric.total * (p - mean) / shrunk
    assert_close(mstar(counts, shrinkage=3.0, **options), plain, 1e-5)


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences())
def test_common_weights_cancel_in_the_target(counts: Cooccurrence) -> None:
    g = np.linspace(1, 2, len(counts.vocabulary))
    plain = mstar(counts).toarray()
    for reweighting in (unweighted(), rank_one(g), setting31() * rank_one(g)):
        np.testing.assert_array_equal(mstar(counts, reweighting=reweighting).toarray(), plain)


@pytest.mark.parametrize("threads", [1, 2, 3])
@either_form
def test_the_same_bits_whatever_the_threads(threads: int, dense: bool) -> None:
    counts = random_counts(900)
    once = in_threads(1, lambda: mstar(counts, shrinkage=1.0, dense=dense))
    again = in_threads(threads, lambda: mstar(counts, shrinkage=1.0, dense=dense))
    np.testing.assert_array_equal(once.toarray(), again.toarray())


def test_few_pairs_make_a_large_target_sparse_on_the_index_arrays_of_the_counts() -> None:
    counts = random_counts(2_500, density=0.01)
    target = mstar(counts)
    rest: Any = target.rest
    assert sparse.issparse(rest)
    assert not target.is_dense
    assert np.shares_memory(rest.indices, counts.symmetric.tocsr().indices)
    assert mstar(random_counts(200, density=0.01)).is_dense
    assert mstar(random_counts(2_500, density=0.6)).is_dense


def test_a_word_that_never_occurs_is_refused_by_name() -> None:
    counts = from_triangle([1, 2, 0, 3, 0, 0], [5, 3, 0])
    for make in (mstar, pmi, ppmi, simclr_target):
        with pytest.raises(SettingError, match="'w002' never occurs"):
            make(counts)


def test_counts_without_pairs_are_refused() -> None:
    with pytest.raises(SettingError, match="No pair"):
        mstar(from_triangle([0, 0, 0], [2, 1]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize(
    "make",
    [
        lambda counts, value: mstar(counts, negatives=value),
        lambda counts, value: mstar(counts, shrinkage=value),
        lambda counts, value: pmi(counts, floor=value),
        lambda counts, value: simclr_target(counts, beta=value),
        lambda counts, value: contrastive_target(counts, np.exp, lambda x: value * x * x),
    ],
)
def test_senseless_parameters_are_refused(
    make: Callable[[Cooccurrence, float], Target], value: float
) -> None:
    with pytest.raises(SettingError):
        make(random_counts(4), value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_shift_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(SettingError, match="shift"):
        ppmi(random_counts(4), value)


def test_an_asymmetric_weight_or_an_integer_type_is_refused() -> None:
    with pytest.raises(SettingError, match="symmetrize"):
        mstar(random_counts(4), reweighting=negative_sampling(symmetrize=None))
    with pytest.raises(SettingError, match="float32 or float64"):
        mstar(random_counts(4), dtype=np.int32)


def test_settings_say_what_made_it() -> None:
    counts = random_counts(4)
    target = mstar(counts, negatives=5.0, shrinkage=2.0)
    assert target.settings["negatives"] == 5.0
    assert target.settings["shrinkage"] == 2.0
    assert target.settings["reweighting"][0] == {"name": "setting31"}
    assert target.settings["sources"] == list(counts.sources)
