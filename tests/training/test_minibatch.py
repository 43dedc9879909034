"""Gradients of minibatches: unbiased estimates of the population gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from in_threads import in_threads
from qwem.training import LOGISTIC, population, stochastic, word2vec_reweighting
from qwem.training.minibatch import CompiledObjective
from training.cases import CORPUS, COUNTS, LOSSES, SIZE, cases, sampler, weightings

if TYPE_CHECKING:
    from qwem.training.minibatch import Backend

KEY = 11


@pytest.mark.parametrize(
    ("loss", "weighting", "flatten"),
    [(*case, 0.7 * (number % 2)) for number, case in enumerate(cases(SIZE))],
)
def test_the_gradient_is_unbiased(loss: str, weighting: str, flatten: float) -> None:
    reweighting = weightings(SIZE)[weighting]
    settings: Any = {"dim": 2, "rate": 1.0, "tied": False, "dtype": np.float64}
    exact = population(COUNTS, LOSSES[loss], reweighting, **settings)
    noisy = stochastic(
        CORPUS, COUNTS, LOSSES[loss], reweighting, batch_size=4_000, flatten=flatten, **settings
    )
    state = exact.init(0.5, seed=KEY)
    value, gradients = exact.evaluate(state)
    truth = np.concatenate([[float(value)], *(np.ravel(g) for g in gradients)])
    estimates = []
    for number in range(40):
        estimate, slopes = noisy.evaluate(state._replace(step=number))
        estimates.append(np.concatenate([[float(estimate)], *(np.ravel(s) for s in slopes)]))
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    scores = (np.mean(estimates, axis=0) - truth) / error
    assert np.abs(scores).max() < 5.5
    assert np.sqrt(np.mean(scores**2)) < 1.5


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("loss", LOSSES)
def test_compiled_loops_and_jax_agree(loss: str, tied: bool) -> None:
    settings: Any = {"dim": 5, "rate": 2.0, "tied": tied, "dtype": np.float64, "batch_size": 1_000}
    results = []
    backends: tuple[Backend, ...] = ("jax", "compiled")
    for backend in backends:
        trainer = stochastic(
            CORPUS, COUNTS, LOSSES[loss], word2vec_reweighting(), backend=backend, **settings
        )
        start = trainer.init(1.0)
        value, gradients = trainer.evaluate(start)
        assert len(gradients) == (1 if tied else 2)
        state, info = trainer.step(start)
        assert all(side.dtype == np.float64 for side in state.parameters)
        results.append([value, *gradients, info.loss, info.gradient_norm, *state.parameters])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_threads_make_no_difference(tied: bool) -> None:
    states = []
    parameters = tuple(
        jnp.asarray(np.random.default_rng(side).standard_normal((SIZE, 6)), np.float32)
        for side in range(2 - tied)
    )
    for threads in (1, 2, 5):
        source = in_threads(
            threads, lambda: CompiledObjective(sampler(word2vec_reweighting()), LOGISTIC)
        )
        states.append(
            [np.asarray(x) for x in jax.tree.leaves(source.descend(parameters, 3, 1, 0.5))]
        )
    for other in states[1:]:
        for one, another in zip(states[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


def test_a_step_leaves_the_old_state_alone() -> None:
    trainer = stochastic(CORPUS, COUNTS, dim=3, rate=0.1, batch_size=100, backend="compiled")
    states = [trainer.init(0.5)]
    copies = [np.array(states[0].vectors)]
    for _ in range(5):
        states.append(trainer.step(states[-1])[0])
        copies.append(np.array(states[-1].vectors))
    for state, copy in zip(states, copies, strict=True):
        np.testing.assert_array_equal(state.vectors, copy)
