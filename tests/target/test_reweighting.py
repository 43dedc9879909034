"""Ψ⁺ and Ψ⁻ against the procedures that they stand for (paper, appendix on reweighting)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem import Cooccurrence, Corpus
from qwem.errors import SettingError
from qwem.target import (
    Reweighting,
    contrastive_target,
    mstar,
    negative_sampling,
    rank_one,
    setting31,
    simclr_target,
    subsampling,
)
from qwem.target.reweighting import unweighted
from target.count_matrices import brute_force_pairs, cooccurrences, probabilities, random_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def word_documents(seed: int = 0) -> tuple[list[list[int]], int]:
    """Documents of skewed random words, most frequent first."""
    rng = np.random.default_rng(seed)
    documents = [rng.geometric(0.35, size=n).clip(max=6) - 1 for n in (40, 25, 3, 1)]
    order = np.argsort(-np.bincount(np.concatenate(documents), minlength=6), kind="stable")
    place = np.argsort(order)
    return [place[document].tolist() for document in documents], 6


def counted(documents: list[list[int]], size: int, pairs: Array, **options: Any) -> Cooccurrence:
    words = np.bincount(np.concatenate(documents).astype(int), minlength=size)
    return Cooccurrence.from_matrix([f"w{i}" for i in range(size)], pairs, words, **options)


def test_dynamic_weights_are_the_average_over_windows_of_random_size() -> None:
    """Each centre word draws its reach uniformly from 1 … L: weights are linear in the distance.

    The paper writes L − d; but pairs at distance L are counted, so it is L + 1 − d.
    """
    documents, size = word_documents()
    window = 5
    dynamic = np.mean(
        [
            brute_force_pairs(documents, size, lambda distance: 1, reach)
            for reach in range(1, window + 1)
        ],
        axis=0,
    )
    words = [[f"w{i}" for i in document] for document in documents]
    counts = Cooccurrence.count(Corpus.from_documents(words), window, "dynamic")
    order = [int(word[1:]) for word in counts.vocabulary]
    np.testing.assert_array_equal(
        counts.symmetric.toarray(), (window * dynamic)[np.ix_(order, order)].round()
    )


def test_subsampling_is_the_expectation_of_every_way_to_thin_the_text() -> None:
    document, size, window, subsample = [0, 1, 0, 2, 0, 0, 1, 0], 3, 3, 0.05
    pairs = brute_force_pairs([document], size, lambda distance: 1, window)
    counts = counted([document], size, pairs)
    words = counts.word_counts / counts.word_counts.sum()
    accept = np.minimum(1, subsample / words + np.sqrt(subsample / words))
    assert accept.min() < 1

    expected_pairs, expected_words = np.zeros((size, size)), np.zeros(size)
    for kept in product([False, True], repeat=len(document)):
        chances = [
            accept[w] if keep else 1 - accept[w] for w, keep in zip(document, kept, strict=True)
        ]
        for i, j in product(range(len(document)), repeat=2):
            if kept[i] and kept[j] and 0 < abs(i - j) <= window:
                expected_pairs[document[i], document[j]] += np.prod(chances)
        for i, word in enumerate(document):
            expected_words[word] += np.prod(chances) * kept[i]

    weight = subsampling(subsample)
    p, pp = probabilities(counts)
    np.testing.assert_allclose(weight.positive_weight(counts) * p, expected_pairs / pairs.sum())
    np.testing.assert_allclose(
        weight.negative_weight(counts) * pp,
        np.outer(expected_words, expected_words) / len(document) ** 2,
    )


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), exponent=st.floats(0, 1.5), k=st.floats(0.1, 20))
def test_negative_sampling_draws_k_words_from_the_power(
    counts: Cooccurrence, exponent: float, k: float
) -> None:
    words = counts.word_counts / counts.word_counts.sum()
    distribution = words**exponent / np.sum(words**exponent)
    _, pp = probabilities(counts)
    weight = negative_sampling(exponent, k, symmetrize=None)
    drawn = weight.negative_weight(counts) * pp
    np.testing.assert_allclose(drawn, k * np.outer(words, distribution))
    np.testing.assert_allclose(drawn.sum(), k)
    np.testing.assert_array_equal(weight.positive_weight(counts), 1)


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), exponent=st.floats(0, 1), k=st.floats(0.5, 10))
def test_symmetrized_negative_sampling_is_a_mean_of_both_orders(
    counts: Cooccurrence, exponent: float, k: float
) -> None:
    plain = negative_sampling(exponent, k, symmetrize=None).negative_weight(counts)
    geometric = negative_sampling(exponent, k, "geometric").negative_weight(counts)
    arithmetic = negative_sampling(exponent, k, "arithmetic").negative_weight(counts)
    np.testing.assert_allclose(geometric, np.sqrt(plain * plain.T))
    np.testing.assert_allclose(arithmetic, (plain + plain.T) / 2)


def test_the_papers_normalization_draws_fewer_negatives() -> None:
    """Ψ⁻ = k P^(−¼)/mean(P^(−¼)): on Zipf's law of 10,000 words, 0.47 k negatives per positive."""
    counts = random_counts(30)
    words = counts.word_counts / counts.word_counts.sum()
    weights = {
        name: negative_sampling(0.75, 3.0, None, name).negative_weight(counts)[0]
        for name in ("samples", "words")
    }
    np.testing.assert_allclose(weights["words"], 3 * words**-0.25 / np.mean(words**-0.25))
    assert weights["words"].mean() == pytest.approx(3)
    assert weights["samples"] @ words == pytest.approx(3)

    zipf = 1 / np.arange(1, 10_001)
    zipf /= zipf.sum()
    assert zipf @ zipf**-0.25 / np.mean(zipf**-0.25) == pytest.approx(0.47, abs=0.005)


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences())
def test_setting31_alone_is_the_paper_s_example(counts: Cooccurrence) -> None:
    p, pp = probabilities(counts)
    np.testing.assert_allclose(setting31().positive_weight(counts), 1 / (p + pp))
    np.testing.assert_allclose(setting31().negative_weight(counts), 1 / (p + pp))


@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences())
def test_products_multiply(counts: Cooccurrence) -> None:
    a = subsampling(0.01)
    b = negative_sampling(negatives=3.0)
    c = negative_sampling(0.5, 2.0, symmetrize="arithmetic")
    for weight in ("positive_weight", "negative_weight"):
        parts = [getattr(factor, weight)(counts) for factor in (a, b, c)]
        np.testing.assert_allclose(getattr(a * b * c, weight)(counts), np.prod(parts, axis=0))
        np.testing.assert_array_equal(getattr(unweighted(), weight)(counts), 1)


def every_product(size: int) -> list[Reweighting]:
    shared = [unweighted(), subsampling(0.05), rank_one(np.linspace(1, 2, size))]
    one_sided = [unweighted(), negative_sampling(), negative_sampling(symmetrize="arithmetic")]
    return [
        reduce
        for setting in (unweighted(), setting31())
        for u in shared
        for v in one_sided
        for reduce in (setting * u * v, v * u * setting)
    ]


@pytest.mark.parametrize("curvature", [(1.0, 1.0), (0.25, 0.25), (0.0, 4.0), (1.0, 2.0)])
def test_the_structure_of_the_coupling_is_that_of_the_matrix(
    curvature: tuple[float, float],
) -> None:
    """What `coupling` says from structure, checked on the matrix G itself."""
    counts = random_counts(6)
    p, pp = probabilities(counts)
    for reweighting in every_product(6):
        g_matrix = (
            curvature[0] * reweighting.positive_weight(counts, curvature=curvature) * p
            + curvature[1] * reweighting.negative_weight(counts, curvature=curvature) * pp
        )
        coupling = reweighting.coupling(counts, curvature)
        singular = np.linalg.svd(g_matrix, compute_uv=False)
        if coupling is None:
            np.testing.assert_allclose(g_matrix, g_matrix[0, 0])
        elif isinstance(coupling, str):
            assert coupling == "general"
            assert singular[1] > 1e-6 * singular[0]
        else:
            np.testing.assert_allclose(g_matrix, np.outer(coupling, coupling))


def test_the_coupling_of_targets() -> None:
    counts = random_counts(6)
    words = counts.word_counts / counts.word_counts.sum()
    assert mstar(counts, negatives=5.0).coupling is None
    assert mstar(counts, reweighting=subsampling()).coupling == "general"
    np.testing.assert_allclose(simclr_target(counts, beta=3.0).coupling, 3 * words)  # type: ignore[arg-type]
    assert simclr_target(counts, reweighting=setting31()).coupling is None
    assert contrastive_target(counts, lambda x: np.exp(-x), np.exp).coupling is None


def test_some_rows_of_the_weights_are_those_of_all() -> None:
    counts = random_counts(6)
    weight = setting31() * subsampling(0.01) * negative_sampling()
    rows = slice(2, 5)
    for of in (weight.positive_weight, weight.negative_weight):
        np.testing.assert_array_equal(of(counts, rows), of(counts)[rows])


@pytest.mark.parametrize(
    "make",
    [
        lambda: setting31() * setting31(),
        lambda: subsampling(0.0),
        lambda: subsampling(np.nan),
        lambda: negative_sampling(exponent=np.inf),
        lambda: negative_sampling(negatives=0.0),
        lambda: negative_sampling(symmetrize="both"),  # type: ignore[arg-type]
        lambda: rank_one([1.0, -1.0]),
        lambda: rank_one([[1.0]]),
        lambda: rank_one([1.0, 2.0]).coupling(random_counts(3)),
        lambda: (setting31() * rank_one([1.0, 2.0])).coupling(random_counts(3)),
    ],
)
def test_senseless_choices_are_refused(make: Any) -> None:
    with pytest.raises(SettingError):
        make()
