"""Targets of text: the forms agree, the formulas agree, and words that belong together do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.target import mstar, negative_sampling, pmi, ppmi, setting31, simclr_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from qwem.corpus import Corpus
    from qwem.target import Target


@pytest.fixture(scope="module")
def counts(text_corpus: Corpus) -> Cooccurrence:
    return Cooccurrence.count(text_corpus, window=16)


def test_dense_and_sparse_agree(counts: Cooccurrence) -> None:
    size = len(counts.vocabulary)
    block = np.random.default_rng(0).standard_normal((size, 8)).astype(np.float32)
    smoothed = setting31() * negative_sampling(symmetrize="arithmetic")
    makers: list[Callable[[bool], Target]] = [
        lambda dense: mstar(counts, dense=dense),
        lambda dense: mstar(counts, shrinkage=10.0, dense=dense),
        lambda dense: mstar(counts, shrinkage=1.0, reweighting=smoothed, dense=dense),
        lambda dense: ppmi(counts, dense=dense),
        lambda dense: simclr_target(counts, dense=dense),
    ]
    for make in makers:
        dense, sparse = make(True), make(False)
        scale = max(1.0, float(np.abs(dense.toarray()).max()))
        np.testing.assert_allclose(sparse.toarray(), dense.toarray(), atol=2e-5 * scale)
        np.testing.assert_allclose(sparse @ block, dense @ block, atol=2e-2 * scale)


def test_unseen_pairs_of_a_shrunken_target_need_few_terms(counts: Cooccurrence) -> None:
    target = mstar(counts, shrinkage=10.0, dense=False)
    assert target.term_weights.size <= 12
    assert target.settings["unseen_error"] <= 1e-5


def test_mstar_pmi_and_ppmi_are_functions_of_each_other(counts: Cooccurrence) -> None:
    x, y = mstar(counts).toarray(), pmi(counts).toarray()
    seen = counts.symmetric.toarray() > 0
    assert 0.2 < seen.mean() < 1
    np.testing.assert_allclose(x, 2 * np.tanh(y / 2), atol=1e-5)
    np.testing.assert_allclose(ppmi(counts).toarray(), np.maximum(y, 0), atol=1e-5)
    assert x[~seen].max() == x.min() == -2


def test_words_that_belong_together_stand_out(counts: Cooccurrence) -> None:
    matrix = mstar(counts, shrinkage=10.0).toarray()
    index = counts.vocabulary.index
    for first, second in [("united", "states"), ("world", "war"), ("album", "band")]:
        entry = matrix[index(first), index(second)]
        assert entry > np.quantile(matrix[index(first)], 0.98)
        assert entry > 0.5
