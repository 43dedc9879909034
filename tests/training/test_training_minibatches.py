"""Minibatches: an unbiased estimate of the population, and always the same for the same key."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.errors import CountError, SettingError
from qwem.target import dynamic_window, none, setting31
from qwem.training import LOGISTIC, QUARTIC, population, stochastic, word2vec_weighting
from qwem.training.minibatch import CompiledSource
from qwem.training.pairs import PairSampler, Prefetcher
from qwem.training.weighting import weigh
from training.training_cases import LOSSES, topical_text, weightings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.training.minibatch import Backend

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


def chi_squared(found: NDArray[Any], expected: NDArray[Any], draws: int) -> float:
    """Return the p-value of Pearson's test, rare pairs taken together; the impossible stay out."""
    assert not np.any(found[expected == 0])
    rare = draws * expected < 10
    cells = [np.append(table[~rare], table[rare].sum()) for table in (found, expected)]
    observed, means = (draws * cell[cells[1] > 0] for cell in cells)
    assert len(means) > 100
    return float(chisquare(observed, means).pvalue)


@pytest.mark.parametrize("flatten", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("parts", [1, 5])
def test_pairs_come_as_often_as_they_should(flatten: float, parts: int) -> None:
    tokens = len(CORPUS.tokens)
    source = sampler(flatten=flatten, part_tokens=-(-tokens // parts), batch_size=100_000)
    cuts = np.linspace(0, tokens, parts + 1).astype(int).tolist()
    words = COUNTS.word_counts / COUNTS.word_counts.sum()
    accept = (words.min() / words) ** flatten
    drawn = words ** (1 - flatten) / np.sum(words ** (1 - flatten))
    visited = [source.part_of(KEY, number) for number in range(parts)]
    assert sorted(visited) == list(range(parts))
    whole = np.zeros((SIZE, SIZE))
    for number, part in enumerate(visited):
        batch = source.draw(KEY, number)
        # Given its part, the pairs of a batch are independent of each other.
        counts = pairs_with_center_in(cuts[part], cuts[part + 1])
        whole += counts
        positive = counts * np.outer(accept, accept)
        for of_kind, expected in (
            (batch.is_positive, positive / positive.sum()),
            (~batch.is_positive, np.outer(drawn, drawn)),
        ):
            assert of_kind.sum() == 50_000
            found = histogram(batch.centers[of_kind], batch.contexts[of_kind])
            # There are 36 tests: by chance, one would fail in one of 28,000 choices of the key.
            assert chi_squared(found, expected, 50_000) > 1e-6
        # What is drawn times its weight is what the part has, and the parts make up the whole.
        of = batch.centers[batch.is_positive], batch.contexts[batch.is_positive]
        estimate = positive[of] / positive.sum() * batch.weights[batch.is_positive]
        share = parts * counts[of] / COUNTS.pair_counts.total / 50_000
        np.testing.assert_allclose(estimate, share, rtol=1e-5)
    np.testing.assert_array_equal(whole, COUNTS.pair_counts.toarray())


def pairs_with_center_in(first: int, last: int) -> NDArray[np.float64]:
    """Count some of the pairs, place by place."""
    pairs = np.zeros((SIZE, SIZE))
    for begin, end in pairwise(CORPUS.offsets.tolist()):
        for center in range(max(begin, first), min(end, last)):
            for context in range(max(begin, center - 3), min(end, center + 4)):
                if context != center:
                    at = CORPUS.tokens[center], CORPUS.tokens[context]
                    pairs[at] += 4 - abs(context - center)
    return pairs


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
@pytest.mark.parametrize("loss", LOSSES)
def test_compiled_loops_and_jax_agree(loss: str, tied: bool) -> None:
    settings: Any = {"dim": 5, "rate": 2.0, "tied": tied, "dtype": np.float64, "batch_size": 1_000}
    results = []
    backends: tuple[Backend, ...] = ("jax", "compiled")
    for backend in backends:
        trainer = stochastic(
            CORPUS, COUNTS, LOSSES[loss], word2vec_weighting(), backend=backend, **settings
        )
        start = trainer.init(1.0)
        value, gradients = trainer.evaluate(start)
        assert len(gradients) == (1 if tied else 2)
        state, info = trainer.step(start)
        moved = [state.vectors] if tied else [state.vectors, state.context_vectors]
        assert all(side.dtype == np.float64 for side in moved if side is not None)
        results.append([value, *gradients, info.loss, info.gradient_norm, *moved])
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
        source = CompiledSource(sampler(word2vec_weighting()), LOGISTIC, threads)
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


def test_memory_is_used_again_only_when_nobody_looks_at_it() -> None:
    trainer = stochastic(CORPUS, COUNTS, dim=3, rate=0.1, batch_size=100, backend="compiled")
    state = trainer.init(0.5)
    addresses = set()
    for _ in range(20):
        state = trainer.step(state)[0]
        addresses.add(np.asarray(state.vectors).ctypes.data)
    assert len(addresses) < 8
    seen = np.asarray(state.vectors)  # outlives its state
    copy = seen.copy()
    for _ in range(20):
        state = trainer.step(state)[0]
    np.testing.assert_array_equal(seen, copy)


def test_a_batch_depends_on_its_key_and_number_alone() -> None:
    ahead = Prefetcher(sampler(setting31(), part_tokens=700, batch_size=2_000))
    in_order = {number: ahead.batch(KEY, number) for number in range(12)}
    fresh = sampler(setting31(), part_tokens=700, batch_size=2_000)
    for number in (7, 0, 11, 3):
        for one, other in zip(fresh.draw(KEY, number)[:5], in_order[number][:5], strict=True):
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
