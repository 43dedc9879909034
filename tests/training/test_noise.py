"""Noise of minibatch gradients, against samples of them and against a run that has levelled off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.errors import SettingError
from qwem.target import mstar, setting31
from qwem.training import (
    LOGISTIC,
    QUARTIC,
    gradient_noise,
    mode_plateau,
    stochastic,
    word2vec_reweighting,
)
from training.cases import topical_text

CORPUS = topical_text(words=25, documents=30)
COUNTS = Cooccurrence.count(CORPUS, 3)
SIZE, DIM = len(COUNTS.vocabulary), 2


@pytest.mark.parametrize("flatten", [0.0, 0.7])
@pytest.mark.parametrize("loss", [QUARTIC, LOGISTIC], ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    "reweighting", [setting31(), word2vec_reweighting(0.02)], ids=["setting31", "word2vec"]
)
def test_it_is_the_covariance_of_sampled_gradients(
    reweighting: Any, loss: Any, flatten: float
) -> None:
    settings: Any = {"batch_size": 400, "flatten": flatten}
    trainer = stochastic(
        CORPUS, COUNTS, loss, reweighting, dim=DIM, rate=1.0, dtype=np.float64, **settings
    )
    state = trainer.init(0.5, seed=3)
    w = np.asarray(state.vectors)
    directions = np.random.default_rng(0).standard_normal((3, SIZE, DIM))
    predicted = gradient_noise(
        COUNTS, loss, reweighting, vectors=w, directions=directions, **settings
    )
    samples = np.array(
        [
            np.tensordot(directions, np.asarray(trainer.evaluate(state._replace(step=k))[1][0]))
            for k in range(600)
        ]
    )
    measured = np.cov(samples.T)
    scale = np.sqrt(np.outer(np.diagonal(predicted), np.diagonal(predicted)))
    np.testing.assert_allclose(measured / scale, predicted / scale, atol=0.25)
    np.testing.assert_allclose(np.diagonal(measured), np.diagonal(predicted), rtol=0.3)


def test_modes_level_off_where_predicted() -> None:
    """Plain steps from the minimum: the variance of s_k over a long run, with nothing fitted."""
    values, vectors = np.linalg.eigh(mstar(COUNTS, dtype=np.float64).toarray())
    values, vectors = values[::-1][:DIM], vectors[:, ::-1][:, :DIM]
    minimum = vectors * np.sqrt(values)
    rate = 0.1 / float(values[0])
    settings: Any = {"batch_size": 20_000, "flatten": 0.7}
    directions = np.array([np.outer(vectors[:, k], np.eye(DIM)[k]) for k in range(DIM)])
    noise = gradient_noise(COUNTS, vectors=minimum, directions=directions, **settings)
    expected = mode_plateau(values, np.diagonal(noise), rate)
    trainer = stochastic(CORPUS, COUNTS, dim=DIM, rate=rate, dtype=np.float64, **settings)
    state = trainer.init(vectors=minimum)
    found = []
    for _ in range(1_500):
        state, _ = trainer.step(state)
        found.append(np.linalg.svd(np.asarray(state.vectors), compute_uv=False))
    np.testing.assert_allclose(np.var(found[100:], axis=0), expected, rtol=0.25)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(SettingError, match="stack"):
        gradient_noise(COUNTS, vectors=np.ones((SIZE, 2)), directions=np.ones((SIZE, 2)))
    with pytest.raises(SettingError, match="edge"):
        mode_plateau([4.0], [1.0], rate=0.3)
