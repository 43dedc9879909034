"""Random starts: their sizes by name, and the precision that they need; schedules."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.dynamics import closed_form, entry_scale
from qwem.errors import SettingError
from qwem.spectrum import factorize
from qwem.target import mstar
from qwem.training import population, stochastic, train
from qwem.training.trainer import Schedule, Trainer, precision_for
from target.count_matrices import random_counts
from training.cases import topical_text

WORDS, DIM = 400, 40
COUNTS = random_counts(WORDS, density=0.05)


def trainer(**settings: Any) -> Trainer:
    return population(COUNTS, **{"dim": DIM, "rate": 1.0, "dtype": np.float64, **settings})


def test_a_start_has_the_size_that_was_asked_for() -> None:
    size = 0.3
    starts = {of: np.asarray(trainer().init(size, scale_of=of).vectors) for of in SIZES}
    for of, measured in SIZES.items():
        assert measured(starts[of]) == pytest.approx(size, rel=0.02)
        assert starts[of].std() == pytest.approx(
            entry_scale(size, (WORDS, DIM), of),
            rel=0.02,
        )


SIZES: dict[Any, Any] = {
    "entry": np.std,
    "vector": lambda w: np.sqrt(np.mean(np.sum(w**2, axis=1))),
    "mode": lambda w: np.sqrt(np.mean(np.linalg.svd(w, compute_uv=False) ** 2)),
}


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_word2vecs_start_is_uniform_and_its_contexts_are_zero(tied: bool) -> None:
    """syn0 is uniform on ±0.5/layer1_size, and syn1neg is zero."""
    state = trainer(tied=tied).init("word2vec", seed=2)
    entries = DIM * np.asarray(state.vectors)
    assert np.abs(entries).max() < 0.5
    np.testing.assert_allclose(np.quantile(entries, [0.1, 0.5, 0.9]), [-0.4, 0, 0.4], atol=0.01)
    assert entries.std() / DIM == pytest.approx(entry_scale("word2vec", (WORDS, DIM)), rel=0.02)
    if tied:
        assert len(state.parameters) == 1
    else:
        assert not np.any(state.context_vectors)
        after, _ = trainer(tied=False).step(state)
        assert np.any(after.context_vectors)


def test_unknown_starts_are_refused() -> None:
    starts: list[Any] = [
        {"init_scale": "glove"},
        {"init_scale": 0.1, "scale_of": "matrix"},
        {"init_scale": 0.1, "context_vectors": np.ones((WORDS, DIM))},
    ]
    for start in starts:
        with pytest.raises(SettingError):
            trainer().init(**start)


def test_small_starts_are_refused_in_single_precision() -> None:
    corpus = topical_text()
    counts = Cooccurrence.count(corpus, 4)
    for made in (
        population(counts, dim=2, rate=1.0),
        stochastic(corpus, counts, dim=2, rate=1.0, batch_size=100),
    ):
        with pytest.raises(SettingError, match="float64"):
            made.init(1e-12)
        made.init(1e-4)


def test_single_precision_loses_a_small_start() -> None:
    """The last mode grows from rounding, and is learned too early; double precision keeps it."""
    counts = Cooccurrence.count(topical_text(), 4)
    dim, sigma = 7, 1e-12
    matrix = mstar(counts, dtype=np.float64)
    spectrum = factorize(matrix, dim)
    start = sigma * np.random.default_rng(0).standard_normal((len(counts.vocabulary), dim))
    theory = closed_form(spectrum, initial_vectors=start)
    last = theory.learning_times[-1]
    ratios = {}
    for precision in ("float32", precision_for(sigma)):
        rate = 0.2 / float(spectrum.eigenvalues[0])
        made = population(counts, dim=dim, rate=rate, method="rk4", dtype=precision)
        with made.precision():  # `init` refuses such vectors in float32
            small = jnp.asarray(start.astype(made.dtype))
            state = made.init(vectors=np.ones_like(start))._replace(parameters=(small,))
        trace = train(made, state, until=1.1 * last, record_every=1)
        learned = trace.singular_values[:, -1] ** 2 > spectrum.eigenvalues[-1] / 2
        ratios[precision] = trace.times[learned.argmax()] / last
    assert ratios["float32"] < 0.95
    assert ratios["float64"] == pytest.approx(1, abs=0.02)


def test_vectors_too_small_for_float32_are_refused() -> None:
    counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    tiny = np.full((2, 1), 1e-12)
    with pytest.raises(SettingError, match="lost in float32"):
        population(counts, dim=1, rate=0.1, dtype="float32").init(vectors=tiny)
    assert population(counts, dim=1, rate=0.1, dtype="float64").init(vectors=tiny).step == 0


FEW = random_counts(12, density=0.6)
RATE, PLANNED = 1e-3, 400


def rates(schedule: Any, **end: Any) -> Any:
    trainer = population(FEW, dim=2, rate=schedule, dtype=np.float64)
    trace = train(trainer, trainer.init(0.1), record_every=1, **end)
    return np.diff(trace.times) / trainer.time_per_rate


def test_a_drop_in_time_takes_more_steps_and_a_drop_in_steps_less_time() -> None:
    """Three quarters of 400 steps are 300; the last quarter takes 1,000 steps of a tenth."""
    t_max = PLANNED * 2 * RATE
    in_time = rates(Schedule(RATE, "stepwise", until=t_max), until=t_max)
    np.testing.assert_allclose(in_time[:300], RATE)
    np.testing.assert_allclose(in_time[301:], RATE / 10)
    assert len(in_time) == pytest.approx(1_300, abs=11)  # rounding may put the drop one step later

    in_steps = rates(Schedule(RATE, "stepwise", steps=PLANNED), steps=PLANNED)
    np.testing.assert_allclose(in_steps, [RATE] * 300 + [RATE / 10] * 100)
    assert in_steps.sum() == pytest.approx(0.775 * PLANNED * RATE)


def test_a_linear_rate_falls_to_zero() -> None:
    schedule = Schedule(RATE, "linear", steps=PLANNED)
    found = rates(schedule, steps=PLANNED)
    np.testing.assert_allclose(found, RATE * (1 - np.arange(PLANNED) / PLANNED), rtol=1e-6)
    assert schedule(2 * PLANNED, 0.0) == pytest.approx(1e-4 * RATE)


def test_wrong_schedules_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"rate": 0.0},
        {"steps": 10},
        {"kind": "stepwise"},
        {"kind": "stepwise", "steps": 10, "until": 1.0},
        {"kind": "linear", "rate": -1.0, "steps": 10},
        {"kind": "linear", "steps": 0},
        {"kind": "cosine", "steps": 10},
    ]
    for settings in wrong:
        with pytest.raises(SettingError):
            Schedule(**{"rate": 0.1, **settings})
