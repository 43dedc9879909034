"""Targets of any loss, and the derivatives they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from qwem.errors import SettingError
from qwem.target import contrastive_target, mstar, negative_sampling, setting31
from qwem.target.building import Derivatives
from qwem.target.reweighting import unweighted
from qwem.target.targets import derivatives_at_zero
from target.count_matrices import cooccurrences, probabilities, random_counts

if TYPE_CHECKING:
    from qwem.cooccurrence import Cooccurrence


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (lambda x: np.log1p(np.exp(-x)), -0.5, 0.25),
        (lambda x: np.logaddexp(0, x), 0.5, 0.25),
        (lambda x: x**2 / 4 - x, -1.0, 0.5),
        (lambda x: 3 * x**4 + x**2 - 2 * x + 5, -2.0, 2.0),
        (lambda x: np.exp(-2 * x), -2.0, 4.0),
        (lambda x: np.log(x + 0.1), 10.0, -100.0),
        (lambda x: 1 / (1 + 25 * x * x), 0.0, -50.0),
        (lambda x: (1 - x) ** 2, -2.0, 2.0),
        (lambda x: 0.0, 0.0, 0.0),
    ],
)
def test_derivatives(function: Any, first: float, second: float) -> None:
    found = derivatives_at_zero(function)
    size = max(1, abs(first), abs(second))
    assert abs(found.first - first) <= 1e-10 * size
    assert abs(found.second - second) <= 1e-10 * size


@pytest.mark.parametrize(
    "function",
    [abs, lambda x: max(0.0, x), lambda x: x * abs(x), np.log, lambda x: np.sin(1 / x)],
)
def test_a_function_without_them_is_refused(function: Any) -> None:
    with pytest.raises(SettingError, match="derivative"):
        derivatives_at_zero(function)


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences())
def test_the_loss_of_word2vec_gives_mstar_back(counts: Cooccurrence) -> None:
    target = contrastive_target(
        counts,
        lambda x: np.log1p(np.exp(-x)),
        lambda x: np.log1p(np.exp(x)),
        reweighting=setting31() * negative_sampling(negatives=5.0),
    )
    same = mstar(counts, reweighting=setting31() * negative_sampling(negatives=5.0))
    np.testing.assert_allclose(target.toarray(), same.toarray(), atol=1e-6)


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences())
def test_targets_equal_the_plain_formula(counts: Cooccurrence) -> None:
    p, pp = probabilities(counts)
    plus, minus = Derivatives(-1.0, 3.0), Derivatives(2.0, 0.5)
    for dense in (True, False):
        target = contrastive_target(
            counts, plus, minus, reweighting=unweighted(), dtype=np.float64, dense=dense
        )
        plain = -(p * -1.0 + pp * 2.0) / (p * 3.0 + pp * 0.5)
        np.testing.assert_allclose(target.toarray(), plain, atol=1e-11)
        assert target.coupling == "general"


@pytest.mark.parametrize(
    ("plus", "minus"),
    [
        (Derivatives(-1.0, 1.0), Derivatives(1.0, 0.0)),
        (Derivatives(-1.0, -1.0), Derivatives(1.0, 1.0)),
    ],
)
def test_a_loss_without_a_minimum_is_refused(plus: Derivatives, minus: Derivatives) -> None:
    with pytest.raises(SettingError, match="no minimum"):
        contrastive_target(random_counts(4), plus, minus)
