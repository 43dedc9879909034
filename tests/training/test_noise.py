"""Noise of minibatch gradients, against samples of them and against a run that has levelled off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem.dynamics.modes import triangular_factor
from qwem.errors import SettingError
from qwem.target import mstar, setting31
from qwem.training import LOGISTIC, QUARTIC, MinibatchNoise, stochastic, word2vec_reweighting
from qwem.training.noise import mode_plateau
from qwem.training.trace import singular_values_of
from training.cases import CORPUS, COUNTS, SIZE

DIM = 2
MATRIX = mstar(COUNTS, dtype=np.float64).toarray()
VALUES, VECTORS = (part[..., ::-1] for part in np.linalg.eigh(MATRIX))


@pytest.mark.parametrize(
    ("weighting", "loss", "flatten", "tied"),
    [  # each two choices of different columns occur together
        ("setting31", QUARTIC, 0.0, True),
        ("setting31", LOGISTIC, 0.7, False),
        ("word2vec", QUARTIC, 0.7, False),
        ("word2vec", LOGISTIC, 0.0, False),
        ("word2vec", LOGISTIC, 0.7, True),
    ],
    ids=lambda choice: getattr(choice, "name", str(choice)),
)
def test_it_is_the_covariance_of_sampled_gradients(
    weighting: str, loss: Any, flatten: float, tied: bool
) -> None:
    reweighting = setting31() if weighting == "setting31" else word2vec_reweighting(0.02)
    settings: Any = {"batch_size": 400, "flatten": flatten}
    trainer = stochastic(
        CORPUS, COUNTS, loss, reweighting,
        dim=DIM, rate=1.0, tied=tied, dtype=np.float64, **settings,
    )  # fmt: skip
    state = trainer.init(0.5, seed=3)
    sides = state.parameters
    directions = np.random.default_rng(0).standard_normal((len(sides), 3, SIZE, DIM))
    point = {"vectors": sides[0], "directions": directions[0]}
    if not tied:
        point |= {"context_vectors": sides[1], "context_directions": directions[1]}
    predicted = MinibatchNoise(COUNTS, loss, reweighting, **settings).covariance(**point)
    samples = np.array(
        [
            sum(
                np.tensordot(along, np.asarray(gradient))
                for along, gradient in zip(
                    directions, trainer.evaluate(state._replace(step=k))[1], strict=True
                )
            )
            for k in range(600)
        ]
    )
    measured = np.cov(samples.T)
    scale = np.sqrt(np.outer(np.diagonal(predicted), np.diagonal(predicted)))
    np.testing.assert_allclose(measured / scale, predicted / scale, atol=0.25)
    np.testing.assert_allclose(np.diagonal(measured), np.diagonal(predicted), rtol=0.3)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_the_total_is_the_trace_over_all_directions(tied: bool) -> None:
    point = np.random.default_rng(1).standard_normal((2, SIZE, DIM))
    every = np.eye(2 * SIZE * DIM).reshape(-1, 2, SIZE, DIM)
    noise = MinibatchNoise(COUNTS, LOGISTIC, word2vec_reweighting(0.02), batch_size=400)
    if tied:
        basis = every[: SIZE * DIM, 0]
        total, trace = noise.total(point[0]), noise.covariance(point[0], basis).trace()
    else:
        total = noise.total(*point)
        trace = noise.covariance(point[0], every[:, 0], point[1], every[:, 1]).trace()
    assert total == pytest.approx(trace, rel=1e-9)


def test_at_the_critical_batch_size_noise_is_as_large_as_the_gradient() -> None:
    point = 0.3 * np.random.default_rng(2).standard_normal((SIZE, DIM))
    critical = MinibatchNoise(COUNTS, flatten=0.7).critical_batch_size(point)
    size = 2 * round(critical / 2)
    trainer = stochastic(
        CORPUS, COUNTS, dim=DIM, rate=1.0, dtype=np.float64, batch_size=size, flatten=0.7
    )
    state = trainer.init(vectors=point)
    drawn = [np.asarray(trainer.evaluate(state._replace(step=k))[1][0]) for k in range(400)]
    gradient = np.sum(np.mean(drawn, axis=0) ** 2)
    assert np.mean(np.sum(np.square(drawn), axis=(1, 2))) == pytest.approx(2 * gradient, rel=0.1)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_modes_and_loss_level_off_where_predicted(tied: bool) -> None:
    """Plain steps from the minimum: variances of s_k and the mean loss, with nothing fitted."""
    minimum = VECTORS[:, :DIM] * np.sqrt(VALUES[:DIM])
    rate = 0.1 / float(VALUES[0])
    settings: Any = {"batch_size": 4_000, "flatten": 0.7}
    noise = MinibatchNoise(COUNTS, **settings)
    directions = np.array([np.outer(VECTORS[:, k], np.eye(DIM)[k]) for k in range(DIM)])
    point = {"vectors": minimum, "directions": directions}
    start: dict[str, Any] = {"vectors": minimum}
    if not tied:
        both = directions / np.sqrt(2)
        point |= {"directions": both, "context_vectors": minimum, "context_directions": both}
        start |= {"context_vectors": minimum}
    along_modes = np.diagonal(noise.covariance(**point))
    expected = mode_plateau(VALUES[:DIM], along_modes, rate, tied=tied)
    trainer = stochastic(
        CORPUS, COUNTS, dim=DIM, rate=rate, tied=tied, dtype=np.float64, **settings
    )
    state = trainer.init(**start)
    found, losses = [], []
    for _ in range(1_500):
        state, _ = trainer.step(state)
        sides = [np.asarray(side) for side in state.parameters]
        found.append(singular_values_of(sides))
        losses.append(np.sum((sides[0] @ sides[-1].T - MATRIX) ** 2) / 4)
    np.testing.assert_allclose(np.var(found[100:], axis=0), expected, rtol=0.25)
    if tied:
        excess = np.mean(losses[200:]) - np.sum(VALUES[DIM:] ** 2) / 4
        assert excess == pytest.approx(noise.excess_loss(minimum, rate), rel=0.1)
        assert np.sum(expected * VALUES[:DIM]) < excess / 5  # learned modes are a small part


def test_noise_starts_modes_that_have_no_start() -> None:
    """R_kk² of a mode without a start, on average over seeds, against the prediction."""
    rng, rate = np.random.default_rng(3), 0.05 / float(np.abs(VALUES).max())
    start = 1e-4 * rng.standard_normal((SIZE, DIM))
    overlaps = start.T @ VECTORS
    free = np.array([-overlaps[1, 0], overlaps[0, 0]]) / np.linalg.norm(overlaps[:, 0])
    start -= np.outer(VECTORS[:, 1], free) * (free @ overlaps[:, 1])
    settings: Any = {"batch_size": 400, "flatten": 1.0}
    seeded = MinibatchNoise(COUNTS, **settings).seeded_start(start, rate)
    assert triangular_factor(start.T @ VECTORS)[1, 1] < 1e-12 < seeded[1]
    assert seeded[0] == pytest.approx(np.linalg.norm(overlaps[:, 0]), rel=0.1)
    trainer = stochastic(CORPUS, COUNTS, dim=DIM, rate=rate, dtype=np.float64, **settings)
    squares = []
    for seed in range(40):
        state = trainer.init(vectors=start, seed=seed)
        while state.time < 6 / VALUES[1]:
            state, _ = trainer.step(state)
        mode = triangular_factor(np.asarray(state.vectors).T @ VECTORS)[1, 1]
        squares.append(mode**2 * np.exp(-VALUES[1] * state.time))
    assert np.sqrt(np.mean(squares)) == pytest.approx(seeded[1], rel=0.2)


def test_wrong_input_is_refused() -> None:
    noise = MinibatchNoise(COUNTS)
    with pytest.raises(SettingError, match="stack"):
        noise.covariance(np.ones((SIZE, 2)), np.ones((SIZE, 2)))
    with pytest.raises(SettingError, match="rows"):
        noise.total(np.ones((SIZE + 1, 2)))
    with pytest.raises(SettingError, match="edge"):
        mode_plateau([4.0], [1.0], rate=0.3)
    with pytest.raises(SettingError, match="edge"):
        mode_plateau([4.0], [1.0], rate=0.6, tied=False)
    with pytest.raises(SettingError, match="Setting"):
        MinibatchNoise(COUNTS, reweighting=word2vec_reweighting()).seeded_start(
            np.ones((SIZE, 2)), 0.1
        )
    point: Any = {"vectors": np.ones((SIZE, 2)), "directions": np.ones((3, SIZE, 2))}
    with pytest.raises(SettingError, match="both"):
        noise.covariance(**point, context_vectors=np.ones((SIZE, 2)))
    fewer: Any = {
        "context_vectors": np.ones((SIZE, 2)),
        "context_directions": np.ones((2, SIZE, 2)),
    }
    with pytest.raises(SettingError, match="same shape"):
        noise.covariance(**point, **fewer)
