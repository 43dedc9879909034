"""The estimator behaves as scikit-learn asks, and its rows are means of word vectors."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as checks
from sklearn.utils import get_tags

from qwem.errors import SettingError
from qwem.model import QwemVectorizer

# The checks that put no table of numbers in, which is what all others do.
APPLICABLE = [
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_mixin_order,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
]

COURT = ["the king and the queen rule", "the queen and the king sit", "king queen throne crown"]
ROAD = ["the car and the bus drive", "the bus and the car stop", "car bus road wheel"]
DOCUMENTS = (COURT + ROAD) * 20


def small(**parameters: Any) -> QwemVectorizer:
    return QwemVectorizer(dim=3, window=2, **parameters)


@pytest.fixture(scope="module")
def fitted() -> QwemVectorizer:
    return small().fit(DOCUMENTS)


@pytest.mark.parametrize("check", APPLICABLE, ids=lambda check: check.__name__)
def test_scikit_learns_checks(check: Any) -> None:
    check("QwemVectorizer", QwemVectorizer())


def test_the_vectorizer_declares_that_it_takes_text() -> None:
    tags = get_tags(QwemVectorizer())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


def test_rows_are_means_of_word_vectors(fitted: QwemVectorizer) -> None:
    found = fitted.transform(["King, queen!", "nothing known", "", "the car the car the bus"])
    embedding = fitted.embedding_
    assert found.shape == (4, 3)
    np.testing.assert_allclose(
        found[0], embedding[["king", "queen"]].mean(axis=0), rtol=1e-5, atol=1e-7
    )
    assert not found[1:3].any()
    repeated = ["the", "car", "the", "car", "the", "bus"]
    np.testing.assert_allclose(found[3], embedding[repeated].mean(axis=0), rtol=1e-5, atol=1e-7)
    assert not fitted.transform(["", "nothing known"]).any()


def test_sif_weighs_words_by_their_rarity() -> None:
    vectorizer = small(weighting="sif", smoothing=0.01).fit(DOCUMENTS)
    vocabulary = vectorizer.embedding_.vocabulary
    words = ["the", "king", "road"]
    probability = vocabulary.counts[vocabulary.indices(words)] / vocabulary.counts.sum()
    weights = 0.01 / (0.01 + probability)
    expected = weights @ vectorizer.embedding_[words] / weights.sum()
    np.testing.assert_allclose(
        vectorizer.transform(["the king road"])[0], expected, rtol=1e-5, atol=1e-7
    )


def test_fit_returns_self_and_keeps_the_parameters(fitted: QwemVectorizer) -> None:
    vectorizer = small(weighting="sif")
    before = vectorizer.get_params()
    assert vectorizer.fit(DOCUMENTS) is vectorizer
    assert vectorizer.get_params() == before
    learned = dict(vars(vectorizer))
    vectorizer.transform(DOCUMENTS)
    assert vars(vectorizer) == learned
    assert {name for name in vars(fitted) if name.endswith("_")} == {"model_", "embedding_"}


def test_the_same_documents_give_the_same_rows(fitted: QwemVectorizer) -> None:
    expected = fitted.transform(DOCUMENTS)
    assert np.array_equal(small().fit_transform(DOCUMENTS), expected)
    assert np.array_equal(clone(fitted).fit(iter(DOCUMENTS)).transform(DOCUMENTS), expected)
    one_by_one = [fitted.transform([document])[0] for document in DOCUMENTS[:6]]
    np.testing.assert_allclose(one_by_one, expected[:6], rtol=1e-6)


def test_before_fit_nothing_is_known() -> None:
    with pytest.raises(NotFittedError):
        QwemVectorizer().transform(DOCUMENTS)
    with pytest.raises(NotFittedError):
        QwemVectorizer().get_feature_names_out()


def test_features_have_names(fitted: QwemVectorizer) -> None:
    expected = [f"qwemvectorizer{i}" for i in range(3)]
    assert fitted.get_feature_names_out().tolist() == expected


def test_it_works_in_a_pipeline() -> None:
    labels = ([0] * 3 + [1] * 3) * 20
    pipeline = make_pipeline(small(), LogisticRegression()).fit(DOCUMENTS, labels)
    assert pipeline.score(DOCUMENTS, labels) == 1.0


def test_wrong_parameters_and_documents_are_told(fitted: QwemVectorizer) -> None:
    for wrong in ({"weighting": "tfidf"}, {"smoothing": 0.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            small(**wrong).fit(DOCUMENTS)
    for take in (small().fit, fitted.transform):
        with pytest.raises(SettingError, match="One string was given"):
            take("one string")


def test_scikit_learn_is_imported_on_use_only() -> None:
    code = "import sys, qwem.model.fitting; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    without = (
        "import sys; sys.modules['sklearn.base'] = None\n"
        "from qwem.errors import MissingExtraError\n"
        "try:\n    from qwem.model import QwemVectorizer\n"
        "except MissingExtraError as error:\n    sys.exit('qwem[all]' not in str(error))\n"
        "sys.exit(1)"
    )
    subprocess.run([sys.executable, "-c", without], check=True)
