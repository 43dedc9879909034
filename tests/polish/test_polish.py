"""Polishing: word2vec's loss against a slow twin, and what its minimisation promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import qwem
from qwem.cooccurrence import Cooccurrence, PairCounts, acceptance
from qwem.errors import CountError, SettingError
from qwem.polish import Polished, polish
from qwem.polish.loss import Word2vecLoss
from qwem.polish.polishing import balanced, start
from qwem.target import mstar

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIZE, DIM = 90, 6


def some_counts(size: int = SIZE, seed: int = 0) -> Cooccurrence:
    """Counts of words in three topics, from frequent to rare."""
    rng = np.random.default_rng(seed)
    frequency = 2000 / (np.arange(size) + 2)
    topic = np.arange(size) % 3
    rate = np.outer(frequency, frequency) / 3000 * (1 + 3 * (topic[:, None] == topic))
    upper = np.triu(rng.poisson(rate))
    words = [f"w{i:03}" for i in range(size)]
    return Cooccurrence.from_matrix(words, upper + np.triu(upper, 1).T, frequency.astype(int) + 5)


def closed_form(counts: Cooccurrence, signed: bool = True, dim: int = DIM) -> qwem.Spectrum:
    return qwem.factorize(mstar(counts, shrinkage=2.0), dim, signed=signed)


def stored(counts: Cooccurrence, sparsely: bool) -> Cooccurrence:
    """The same counts, stored densely or sparsely whatever their density."""
    matrix: Any = counts.pair_counts.toarray()
    pairs = PairCounts(sparse.csr_array(matrix) if sparsely else matrix)
    return Cooccurrence(counts.vocabulary, pairs)


def slow_weights(
    counts: Cooccurrence, negatives: float, exponent: float, subsample: float | None
) -> tuple[Array, Array]:
    """C and N, by their definitions."""
    positive = counts.pair_counts.toarray().astype(np.float64)
    words = counts.word_counts.astype(np.float64)
    if subsample is not None:
        ratio = subsample / (words / words.sum())
        accepted = np.minimum(1, np.sqrt(ratio) + ratio)
        positive *= np.outer(accepted, accepted)
        words *= accepted
    noise = words**exponent / np.sum(words**exponent)
    return positive, negatives * np.outer(positive.sum(axis=1), noise)


def with_evidence(
    weights: tuple[Array, Array], accepted: Array, noise: Array, shrinkage: float
) -> tuple[Array, Array]:
    """C and N with evidence of independence: as many positives among it as independence has."""
    positive, negative = weights
    column = positive.sum(axis=0) / positive.sum()
    share = column / (column + noise)
    each = shrinkage * np.outer(accepted, accepted)
    return positive + each * share, negative + each * (1 - share)


def slow_loss(
    word: Array,
    context: Array,
    positive: Array,
    negative: Array,
    total: float | None = None,
    bias: Array | float = 0.0,
) -> float:
    logits = word @ context.T + bias
    pairs = positive * np.logaddexp(0, -logits) + negative * np.logaddexp(0, logits)
    return float(pairs.sum() / (positive.sum() if total is None else total))


def random_sides(seed: int, scale: float = 0.7, size: int = SIZE) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return [(scale * rng.standard_normal((size, DIM))).astype(np.float32) for _ in range(2)]


@pytest.mark.parametrize("sparsely", [False, True])
@pytest.mark.parametrize("subsample", [None, 1e-3])
@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0])
def test_loss_gradient_and_curvature(sparsely: bool, subsample: float | None, scale: float) -> None:
    counts = some_counts()
    settings: dict[str, Any] = {"negatives": 3.0, "exponent": 0.6, "subsample": subsample}
    weights = slow_weights(counts, **settings)
    total = weights[0].sum()
    accepted = np.ones(SIZE) if subsample is None else acceptance(counts.word_counts, subsample)
    noise = weights[1].sum(axis=0) / total  # k q_j
    coupling = np.linspace(0.5, 2.0, SIZE)
    relative = coupling / coupling.mean()
    positive, negative = (
        side * np.outer(relative, relative) for side in with_evidence(weights, accepted, noise, 4.0)
    )
    word, context = random_sides(1, scale)
    objective = Word2vecLoss(stored(counts, sparsely), **settings, shrinkage=4.0, coupling=coupling)
    found = objective([word, context])

    wide = word.astype(np.float64), context.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-wide[0] @ wide[1].T))
    slopes = (positive + negative) * sigmoid - positive
    curvature = (positive + negative) * sigmoid * (1 - sigmoid)
    assert found.loss == pytest.approx(slow_loss(*wide, positive, negative, total), rel=1e-6)
    for gradient, plain in zip(
        found.gradients, (slopes @ wide[1], slopes.T @ wide[0]), strict=True
    ):
        np.testing.assert_allclose(gradient, plain, atol=1e-5 * np.abs(plain).max())
    # float32 logits of the order of 100 are exact to 1e-5, and so is their curvature.
    np.testing.assert_allclose(found.curvatures[0], curvature.sum(axis=1), rtol=2e-4)
    np.testing.assert_allclose(found.curvatures[1], curvature.sum(axis=0), rtol=2e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_gradient_by_finite_differences(tied: bool) -> None:
    counts = some_counts()
    weights = slow_weights(counts, 5.0, 0.75, None)
    sides = random_sides(2)[: 1 if tied else 2]
    found = Word2vecLoss(counts, negatives=5.0, exponent=0.75, tied=tied)(sides)
    change = random_sides(3)[: len(sides)]

    def loss(distance: float) -> float:
        moved = [side + distance * d.astype(float) for side, d in zip(sides, change, strict=True)]
        return slow_loss(moved[0], moved[-1], *weights)

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert found.slope(change) == pytest.approx(slope, rel=1e-5)


@given(st.integers(1, 200), st.booleans())
def test_tiles_and_storage_do_not_matter(tile_rows: int, sparsely: bool) -> None:
    counts = some_counts()
    sides = random_sides(4)
    whole = Word2vecLoss(counts, negatives=5.0, exponent=0.75)(sides)
    objective = Word2vecLoss(
        stored(counts, sparsely), negatives=5.0, exponent=0.75, tile_rows=tile_rows
    )
    part = objective(sides)
    assert part.loss == pytest.approx(whole.loss, rel=1e-6)
    for a, b in zip(whole.gradients, part.gradients, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(a).max())


def test_overlong_logits_are_refused_not_hidden() -> None:
    objective = Word2vecLoss(some_counts(), negatives=5.0, exponent=0.75)
    huge = [np.full((SIZE, DIM), 1e30, np.float32)] * 2
    assert objective(huge).loss == np.inf


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("subsample", [None, 1e-3])
def test_every_step_lowers_the_true_loss(tied: bool, subsample: float | None) -> None:
    counts = some_counts()
    settings: dict[str, Any] = {"negatives": 2.0, "exponent": 0.75, "subsample": subsample}
    seen: list[Polished] = []
    polished = polish(
        closed_form(counts, signed=not tied),
        counts,
        tied=tied,
        tol=0.0,
        steps=8,
        shrinkage=0.0,
        callback=seen.append,
        **settings,
    )
    assert polished.steps == 8 == len(seen) - 1
    assert np.all(np.diff(polished.losses) < 0)
    weights = slow_weights(counts, **settings)
    for one in seen:
        word, context = (e.vectors.astype(float) for e in (one.embedding, one.context))
        found = slow_loss(word, context, *weights, bias=one.bias)
        assert found == pytest.approx(one.losses[-1], rel=1e-5)
        assert tied or np.abs(word.mean(axis=0)).max() < 1e-6
    assert tied == np.array_equal(polished.embedding.vectors, polished.context.vectors)


def test_it_gets_to_the_minimum() -> None:
    """With as many dimensions as words, and one for the constant, the optimum is log C/N."""
    counts = Cooccurrence.from_matrix("abcd", 5 + 9 * np.eye(4, dtype=int), [40, 30, 20, 10])
    start_from = qwem.factorize(mstar(counts), 4, signed=True)
    polished = polish(start_from, counts, steps=300, tol=0.0, shrinkage=0.0)
    positive, negative = slow_weights(counts, 5.0, 0.75, None)
    best = np.log(positive / negative)
    least = slow_loss(best, np.eye(4), positive, negative)
    assert polished.losses[-1] == pytest.approx(least, rel=1e-5)


def test_start_holds_the_closed_form_and_the_constant() -> None:
    counts = some_counts()
    spectrum = closed_form(counts)
    objective = Word2vecLoss(counts, negatives=5.0, exponent=0.75)
    word, context = start(spectrum, objective)
    positive, negative = slow_weights(counts, 5.0, 0.75, None)
    expected = np.outer(positive.sum(axis=1), positive.sum(axis=0)) / positive.sum()
    kept = spectrum.restrict(DIM - 1)
    modes = (kept.eigenvectors * kept.eigenvalues) @ kept.eigenvectors.T
    np.testing.assert_allclose(
        word @ context.T, modes + np.log(expected / negative), rtol=1e-4, atol=1e-5
    )


@given(st.integers(0, 100), st.floats(0.01, 10))
def test_balanced_factors(seed: int, scale: float) -> None:
    word, context = random_sides(seed)
    word, context = word * np.float32(scale), context @ random_sides(seed + 1, size=DIM)[0]
    first, second = balanced(word, context)
    product = word @ context.T
    np.testing.assert_allclose(first @ second.T, product, atol=1e-4 * np.abs(product).max())
    gram = first.T @ first
    np.testing.assert_allclose(gram, second.T @ second, atol=1e-3 * np.abs(gram).max())


def test_same_bits_whatever_the_threads() -> None:
    counts = some_counts(size=300)
    spectrum = closed_form(counts)
    one, again, three = (polish(spectrum, counts, threads=threads) for threads in (1, 1, 3))
    for other in (again, three):
        assert np.array_equal(one.losses, other.losses)
        assert np.array_equal(one.embedding.vectors, other.embedding.vectors)
        assert np.array_equal(one.context.vectors, other.context.vectors)


def test_it_stops_at_the_tolerance() -> None:
    counts = some_counts()
    polished = polish(closed_form(counts), counts, tol=0.1, steps=50)
    falls = -np.diff(polished.losses)
    assert polished.converged
    assert polished.steps < 50
    shares = falls / (polished.losses[0] - polished.losses[1:])
    assert shares[-1] <= 0.1
    assert np.all(shares[:-1] > 0.1)


def test_no_steps_and_too_few_steps() -> None:
    counts = some_counts()
    assert polish(closed_form(counts), counts, steps=0).steps == 0
    few = polish(closed_form(counts), counts, steps=2, tol=0.0)
    assert (few.steps, few.converged) == (2, False)


def test_a_word_without_pairs_stays_finite() -> None:
    matrix = some_counts(20).pair_counts.toarray().astype(int)
    matrix[19], matrix[:, 19] = 0, 0
    counts = Cooccurrence.from_matrix([f"w{i}" for i in range(20)], matrix, np.arange(40, 20, -1))
    polished = polish(closed_form(counts, dim=4), counts)
    assert np.all(np.isfinite(polished.embedding.vectors))
    assert polished.losses[-1] < polished.losses[0]


def test_the_coupling_of_the_spectrum_is_the_losss() -> None:
    counts = some_counts()
    plain, coupled = (qwem.fit(counts, dim=DIM, signed=True, coupling=a) for a in (0.0, -0.2))
    weight = counts.word_counts.astype(np.float64) ** -0.2
    relative = np.outer(weight, weight) / weight.mean() ** 2
    polished = polish(coupled, counts, steps=3, tol=0.0, shrinkage=0.0)
    positive, negative = slow_weights(counts, 5.0, 0.75, None)
    word, context = (e.vectors.astype(float) for e in (polished.embedding, polished.context))
    loss = slow_loss(
        word, context, relative * positive, relative * negative, positive.sum(), polished.bias
    )
    assert polished.losses[-1] == pytest.approx(loss, rel=1e-5)
    other = polish(plain, counts, steps=3, tol=0.0, shrinkage=0.0)
    assert other.losses[-1] != pytest.approx(loss, rel=1e-3)


def test_a_model_will_do() -> None:
    counts = some_counts()
    model = qwem.fit(counts, dim=DIM, signed=True)
    polished = polish(model, counts)
    assert np.array_equal(polished.losses, polish(model.spectrum, counts).losses)
    assert polished.embedding.vocabulary == counts.vocabulary
    assert polished.embedding.provenance["polish"]["negatives"] == 5.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": -1}, "steps"),
        ({"negatives": 0.0}, "negatives"),
        ({"exponent": np.nan}, "exponent"),
        ({"tol": -1e-3}, "tol"),
        ({"shrinkage": -1.0}, "shrinkage"),
        ({"subsample": -1.0}, "subsample"),
        ({"threads": 0}, "threads"),
        ({"tied": True}, "signed=False"),
    ],
)
def test_settings_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    counts = some_counts()
    with pytest.raises(SettingError, match=message):
        polish(closed_form(counts), counts, **changes)


def test_starts_that_do_not_fit() -> None:
    counts = some_counts()
    with pytest.raises(SettingError, match="same words"):
        polish(closed_form(counts), counts.restrict(SIZE - 1))
    with pytest.raises(SettingError, match="2 dimensions"):
        polish(closed_form(counts, dim=1), counts)
    nothing = counts - counts
    with pytest.raises(CountError, match="every word"):
        polish(closed_form(counts), nothing)


def test_small_text_gains_too(shared_data: Path) -> None:
    """Two million words are few enough to overfit: the tolerance has to stop in time."""
    corpus = qwem.Corpus.from_files(
        shared_data / "enwiki-2M.parquet", vocab_size=3000, min_tokens=500, tokenizer="ascii"
    )
    counts = Cooccurrence.count(corpus, window=5, subsample=1e-3)
    spectrum = qwem.fit(counts, preset="practical", dim=100).spectrum
    polished = polish(spectrum, counts)
    assert polished.converged
    files = shared_data / "benchmarks"
    accuracies = []
    for embedding in (spectrum.embedding(), polished.embedding):
        scores = qwem.evaluate(embedding, files / "google-analogies.txt").to_dict()
        accuracies.append(scores["analogies"]["accuracy"])
    assert accuracies[1] > accuracies[0]
