"""Spectra of slightly different counts are those that a factorization finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qwem
from qwem import Cooccurrence, Corpus
from qwem.comparison.folds import FoldCounts, deal
from qwem.comparison.replicates import PerturbedSpectra
from qwem.model import Settings
from qwem.model.fitting import build_target
from qwem.model.settings import resolve_auto
from qwem.spectrum import Spectrum, factorize

WORDS, TOPICS, DIM = 90, 12, 6


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Return documents of one or two topics each, with more topics than dimensions."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, 0.2), size=TOPICS)
    texts = [
        [
            f"w{word}"
            for word in rng.choice(WORDS, 60, p=rng.dirichlet(np.full(TOPICS, 0.2)) @ topics)
        ]
        for _ in range(300)
    ]
    return Corpus.from_documents(texts, min_count=1)


def products(spectrum: Spectrum) -> np.ndarray[Any, Any]:
    """Return W W′ᵀ, which no choice of signs or rotations changes."""
    word, context = spectrum.embedding().vectors, spectrum.context_embedding().vectors
    return word.astype(np.float64) @ context.T


@pytest.mark.parametrize(
    "changes",
    [{}, {"coupling": 0.0}, {"signed": False}, {"target": "ppmi"}],
    ids=["default", "no coupling", "tied", "no outlier"],
)
def test_perturbed_spectra_move_as_a_factorization_does(
    corpus: Corpus, changes: dict[str, Any]
) -> None:
    resolved = resolve_auto(Settings(dim=DIM, polish=False, tol=1e-5, **changes), corpus.vocabulary)
    counts = FoldCounts(deal(corpus, 10), resolved)
    whole = qwem.fit(counts.total, resolved).spectrum
    spectra = PerturbedSpectra(whole, counts.total, resolved)
    same = spectra.spectrum(counts.total)
    assert np.allclose(same.eigenvalues, whole.eigenvalues, rtol=1e-3)
    assert np.allclose(products(same), products(whole), atol=0.01)
    for number in (0, 5):
        part = counts.without(number)
        found = spectra.spectrum(part)
        expected = factorize(build_target(part, resolved), DIM, signed=resolved.signed, tol=1e-5)
        assert found.vocabulary == part.vocabulary
        assert np.allclose(found.eigenvalues, expected.eigenvalues, rtol=0.02)
        moves = [(products(each) - products(whole)).ravel() for each in (found, expected)]
        assert np.corrcoef(*moves)[0, 1] > 0.93
        assert 0.9 < np.linalg.norm(moves[0]) / np.linalg.norm(moves[1]) < 1.1


def test_a_target_of_low_rank_has_no_further_eigenvectors() -> None:
    pairs = np.kron(np.eye(2, dtype=np.int64), np.ones((15, 15), np.int64)) * 40
    counts = Cooccurrence.from_matrix([f"w{i:02}" for i in range(30)], pairs)
    resolved = resolve_auto(
        Settings(dim=1, polish=False, signed=False, coupling=0.0), counts.vocabulary
    )
    whole = qwem.fit(counts, resolved).spectrum
    found = PerturbedSpectra(whole, counts, resolved).spectrum(counts)
    assert np.allclose(products(found), products(whole), atol=1e-3)
