"""Noise of minibatch gradients, against samples of them and against a run that has levelled off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.errors import SettingError
from qwem.target import mstar, setting31
from qwem.training import LOGISTIC, QUARTIC, gradient_noise, stochastic, word2vec_reweighting
from qwem.training.noise import mode_plateau
from qwem.training.trace import singular_values_of
from qwem.training.trainer import parameters_of
from training.cases import topical_text

CORPUS = topical_text(words=25, documents=30)
COUNTS = Cooccurrence.count(CORPUS, 3)
SIZE, DIM = len(COUNTS.vocabulary), 2


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("flatten", [0.0, 0.7])
@pytest.mark.parametrize("loss", [QUARTIC, LOGISTIC], ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    "reweighting", [setting31(), word2vec_reweighting(0.02)], ids=["setting31", "word2vec"]
)
def test_it_is_the_covariance_of_sampled_gradients(
    reweighting: Any, loss: Any, flatten: float, tied: bool
) -> None:
    settings: Any = {"batch_size": 400, "flatten": flatten}
    trainer = stochastic(
        CORPUS, COUNTS, loss, reweighting,
        dim=DIM, rate=1.0, tied=tied, dtype=np.float64, **settings,
    )  # fmt: skip
    state = trainer.init(0.5, seed=3)
    sides = parameters_of(state)
    directions = np.random.default_rng(0).standard_normal((len(sides), 3, SIZE, DIM))
    point = {"vectors": sides[0], "directions": directions[0]}
    if not tied:
        point |= {"context_vectors": sides[1], "context_directions": directions[1]}
    predicted = gradient_noise(COUNTS, loss, reweighting, **point, **settings)
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
def test_modes_level_off_where_predicted(tied: bool) -> None:
    """Plain steps from the minimum: the variance of s_k over a long run, with nothing fitted."""
    values, vectors = np.linalg.eigh(mstar(COUNTS, dtype=np.float64).toarray())
    values, vectors = values[::-1][:DIM], vectors[:, ::-1][:, :DIM]
    minimum = vectors * np.sqrt(values)
    rate = 0.1 / float(values[0])
    settings: Any = {"batch_size": 20_000, "flatten": 0.7}
    directions = np.array([np.outer(vectors[:, k], np.eye(DIM)[k]) for k in range(DIM)])
    point = {"vectors": minimum, "directions": directions}
    start = {"vectors": minimum}
    if not tied:
        both = directions / np.sqrt(2)
        point |= {"directions": both, "context_vectors": minimum, "context_directions": both}
        start |= {"context_vectors": minimum}
    noise = gradient_noise(COUNTS, **point, **settings)
    expected = mode_plateau(values, np.diagonal(noise), rate, tied=tied)
    trainer = stochastic(
        CORPUS, COUNTS, dim=DIM, rate=rate, tied=tied, dtype=np.float64, **settings
    )
    state = trainer.init(**start)
    found = []
    for _ in range(1_500):
        state, _ = trainer.step(state)
        found.append(singular_values_of([np.asarray(side) for side in parameters_of(state)]))
    np.testing.assert_allclose(np.var(found[100:], axis=0), expected, rtol=0.25)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(SettingError, match="stack"):
        gradient_noise(COUNTS, vectors=np.ones((SIZE, 2)), directions=np.ones((SIZE, 2)))
    with pytest.raises(SettingError, match="edge"):
        mode_plateau([4.0], [1.0], rate=0.3)
    with pytest.raises(SettingError, match="edge"):
        mode_plateau([4.0], [1.0], rate=0.6, tied=False)
    point: Any = {"vectors": np.ones((SIZE, 2)), "directions": np.ones((3, SIZE, 2))}
    with pytest.raises(SettingError, match="both"):
        gradient_noise(COUNTS, **point, context_vectors=np.ones((SIZE, 2)))
    fewer: Any = {
        "context_vectors": np.ones((SIZE, 2)),
        "context_directions": np.ones((2, SIZE, 2)),
    }
    with pytest.raises(SettingError, match="same shape"):
        gradient_noise(COUNTS, **point, **fewer)
