"""Minibatches: an unbiased estimate of the population, and always the same for the same key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dynamics.training_cases import LOSSES, topical_text, weightings
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.dynamics import LOGISTIC, QUARTIC, population, stochastic, word2vec_weighting
from qwem.dynamics.training.pairs import PairSampler, Prefetcher
from qwem.dynamics.training.weighting import weigh
from qwem.errors import CountError, SettingError
from qwem.target import dynamic_window, none, setting31
from target.count_matrices import probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.dynamics.training.minibatch import Backend

CORPUS = topical_text(words=25, documents=30)
COUNTS = Cooccurrence.count(CORPUS, 3)
SIZE = len(COUNTS.vocabulary)
KEY = 11


def sampler(reweighting: Any = None, **settings: Any) -> PairSampler:
    weighed = weigh(COUNTS, none() if reweighting is None else reweighting, QUARTIC)
    return PairSampler(CORPUS, COUNTS, weighed, **{"batch_size": 20_000, **settings})


def histogram(centers: NDArray[np.int32], contexts: NDArray[np.int32]) -> NDArray[np.float64]:
    pairs = np.zeros((SIZE, SIZE))
    np.add.at(pairs, (centers, contexts), 1.0)
    return pairs / len(centers)


def z_scores(found: NDArray[Any], expected: NDArray[Any], draws: int) -> NDArray[Any]:
    """How many standard errors each frequency is off; a chance of zero must not have come up."""
    assert not np.any(found[expected == 0])
    error = np.sqrt(expected * (1 - expected) / draws)
    return np.divide(found - expected, error, out=np.zeros_like(found), where=error > 0)


@pytest.mark.parametrize("flatten", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("part_tokens", [10**6, 500], ids=["whole", "parts"])
def test_pairs_come_as_often_as_they_should(flatten: float, part_tokens: int) -> None:
    source = sampler(flatten=flatten, part_tokens=part_tokens)
    batches = [source.draw(KEY, number) for number in range(20)]
    centers, contexts = (np.stack([b[k] for b in batches]) for k in range(2))
    half = centers.shape[1] // 2
    pairs, _ = probabilities(COUNTS)
    words = COUNTS.word_counts / COUNTS.word_counts.sum()
    accept = (words.min() / words) ** flatten
    drawn = words ** (1 - flatten) / np.sum(words ** (1 - flatten))
    positive = pairs * np.outer(accept, accept)
    for part, expected in (
        (slice(half), positive / positive.sum()),
        (slice(half, None), np.outer(drawn, drawn)),
    ):
        found = histogram(centers[:, part].ravel(), contexts[:, part].ravel())
        scores = z_scores(found, expected, half * len(batches))
        # 625 frequencies: the largest of as many normal numbers is about 3, never 5.
        limit = 5.0 if part_tokens > 500 or part.start else 12.0  # parts differ in their topics
        assert np.abs(scores).max() < limit
        assert np.std(scores) > 0.5


@pytest.mark.parametrize("flatten", [0.0, 0.7])
@pytest.mark.parametrize("weighting", weightings(SIZE))
@pytest.mark.parametrize("loss", LOSSES)
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
    for number in range(60):
        estimate, slopes = noisy.evaluate(state._replace(step=number))
        estimates.append(np.concatenate([[float(estimate)], *(np.ravel(s) for s in slopes)]))
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    scores = (np.mean(estimates, axis=0) - truth) / error
    assert np.abs(scores).max() < 5.5
    assert np.sqrt(np.mean(scores**2)) < 1.5


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_compiled_loops_and_jax_agree(tied: bool) -> None:
    results = []
    backends: tuple[Backend, ...] = ("jax", "compiled")
    for backend in backends:
        trainer = stochastic(
            CORPUS,
            COUNTS,
            LOGISTIC,
            word2vec_weighting(),
            dim=5,
            rate=1.0,
            tied=tied,
            dtype=np.float64,
            batch_size=1_000,
            backend=backend,
        )
        results.append(trainer.evaluate(trainer.init(1.0)))
    (loss, gradients), (other_loss, other_gradients) = results
    assert float(loss) == pytest.approx(float(other_loss), rel=1e-12)
    assert len(gradients) == (1 if tied else 2)
    for one, other in zip(gradients, other_gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


def test_a_batch_depends_on_its_key_and_number_alone() -> None:
    ahead = Prefetcher(sampler(setting31(), part_tokens=700, batch_size=2_000))
    in_order = {number: ahead.batch(KEY, number) for number in range(12)}
    fresh = sampler(setting31(), part_tokens=700, batch_size=2_000)
    for number in (7, 0, 11, 3):
        for one, other in zip(fresh.draw(KEY, number)[:3], in_order[number][:3], strict=True):
            np.testing.assert_array_equal(one, other)
    assert not np.array_equal(in_order[0].centers, in_order[1].centers)
    assert not np.array_equal(in_order[0].centers, fresh.draw(KEY + 1, 0).centers)


def test_a_masked_word_is_never_drawn() -> None:
    texts = ["a b c a b", "c b a", "d a b c"]
    corpus = Corpus.from_documents(texts, vocab_size=3, oov="mask")
    counts = Cooccurrence.count(corpus, 2)
    weighed = weigh(counts, setting31(), QUARTIC)
    batch = PairSampler(corpus, counts, weighed, batch_size=4_000).draw(0, 0)
    assert batch.centers.max() < 3
    assert batch.contexts.max() < 3
    assert np.all(np.isfinite(batch.weights))


def test_what_was_not_counted_like_this_is_refused() -> None:
    weighed = weigh(COUNTS, none(), QUARTIC)
    with pytest.raises(CountError, match="different words"):
        PairSampler(topical_text(words=10), COUNTS, weighed)
    with pytest.raises(CountError, match="subsampling"):
        PairSampler(CORPUS, Cooccurrence.count(CORPUS, 3, subsample=0.1), weighed)
    flat = Cooccurrence.count(CORPUS, 3, weights="flat")
    distances = dynamic_window(np.full((SIZE, SIZE), 2.0))
    with pytest.raises(SettingError, match="dynamic"):
        stochastic(CORPUS, flat, QUARTIC, distances, dim=2, rate=1.0)
    for wrong in ({"batch_size": 3}, {"flatten": 1.5}):
        with pytest.raises(SettingError):
            sampler(**wrong)
    with pytest.raises(SettingError):
        stochastic(CORPUS, COUNTS, dim=2, rate=1.0, backend="gpu")  # type: ignore[arg-type]
