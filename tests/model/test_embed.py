"""Vectors of words that were not there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

import qwem
from model.topics import TOPICS, topic_documents, topic_of
from qwem import Cooccurrence, Corpus, Model
from qwem.cooccurrence import context_matrix
from qwem.errors import CorpusError, CountError, SettingError

if TYPE_CHECKING:
    from pathlib import Path

DIM = 8
CLOSED: dict[str, dict[str, Any]] = {
    "paper": {"preset": "paper"},
    "practical": {"polish": False},
    "tied": {"polish": False, "signed": False},
    "coupling": {"polish": False, "coupling": -0.4, "negatives": 2.0},
    "ppmi": {"target": "ppmi"},
    "pmi": {"target": "pmi"},
}


@pytest.fixture(scope="module")
def counts() -> Cooccurrence:
    return Cooccurrence.count(Corpus.from_documents(topic_documents()), 5, subsample=0.02)


@pytest.fixture(scope="module")
def polished(counts: Cooccurrence) -> Model:
    return qwem.fit(counts, dim=DIM)


@pytest.mark.parametrize("settings", CLOSED.values(), ids=CLOSED)
def test_words_of_the_model_have_exactly_their_vectors(
    counts: Cooccurrence, settings: dict[str, Any]
) -> None:
    model = qwem.fit(counts, dim=DIM, tol=1e-5, **settings)
    pairs = counts.symmetric.toarray()
    found = model.embed_rows(pairs, counts.word_counts, shrink=False).vectors
    expected = model.embedding().vectors
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_words_of_a_polished_model_nearly_have_their_vectors(
    counts: Cooccurrence, polished: Model
) -> None:
    """A fit has a coupling and stops early; new rows have some of a prior instead of evidence."""
    found = polished.embed_rows(context_matrix(counts)).vectors
    expected = polished.embedding().vectors
    cosines = np.sum(found * expected, axis=1)
    cosines /= np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    topical = [
        polished.vocabulary.index(word) for words in TOPICS.values() for word in words.split()
    ]
    assert cosines[topical].min() > 0.98


def test_counts_of_words_are_divided_as_the_new_word_would_be_seen_in_each_context(
    polished: Model,
) -> None:
    """A word with the counts that its vector predicts nearly has its vector, if they are sums."""
    solution = polished.polished
    assert solution is not None
    contexts, word = solution.contexts, polished.vocabulary.index("ship")
    vector = solution.words.vectors[word] + solution.centre
    expected = 1e5 * contexts.probability * np.exp(contexts.vectors @ vector)
    by_word = expected.reshape(len(polished.vocabulary), -1)
    frequency = contexts.probability.reshape(by_word.shape)
    frequency = (
        by_word.sum(axis=1, keepdims=True) * frequency / frequency.sum(axis=1, keepdims=True)
    )
    rows = expected, frequency.ravel()
    exact, plain = (polished.embed_rows(row).vectors[0] for row in rows)
    divided = polished.embed_rows(by_word.sum(axis=1)).vectors[0]
    assert np.linalg.norm(divided - exact) < 0.2 * np.linalg.norm(plain - exact)


def test_the_prior_vanishes_with_more_text(counts: Cooccurrence, polished: Model) -> None:
    """With a hundred times its text, a word has the vector that a fit without evidence gives."""
    from qwem.polish.loss import solve_row

    row = context_matrix(counts)[[counts.vocabulary.index("ship")]].astype(np.float64)
    solution = polished.polished
    assert solution is not None
    free = solve_row(solution.contexts, row.indices, row.data)[0] - solution.centre
    gaps = [np.linalg.norm(polished.embed_rows(row * n).vectors[0] - free) for n in (1, 10, 100)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02 * np.linalg.norm(free)


@pytest.mark.parametrize("polish", [False, True])
def test_a_new_word_is_near_the_words_of_its_contexts(
    counts: Cooccurrence, polished: Model, polish: bool
) -> None:
    model = polished if polish else qwem.fit(counts, dim=DIM, polish=False)
    texts = [f"the {word} of a zzz at {word} and" for word in TOPICS["garden"].split()]
    found = model.embed("zzz", texts)
    assert found.occurrences == 12
    near = [word for word, _, _ in found.most_similar(topn=5)]
    assert [topic_of(word) for word in near] == ["garden"] * 5
    cosine, error = found.similarity("rose")
    assert cosine == pytest.approx(model.wv.most_similar([found.vector])[0][1], abs=0.5)
    assert 0 < error < 0.3
    lines = found.to_text().splitlines()
    assert lines[0] == "zzz: found 12 times."
    assert lines[1].split() == ["word", "similarity", "error"]
    assert lines[2].split()[0] == near[0]
    plain = json.loads(json.dumps(found.to_dict()))
    assert np.allclose(plain["vector"], found.vector)
    assert [each["word"] for each in plain["neighbours"]][:5] == near
    with pytest.raises(CorpusError, match="'yyy' does not occur"):
        model.embed("yyy", texts)


def test_a_phrase_is_one_word(counts: Cooccurrence) -> None:
    model = qwem.fit(counts, dim=DIM, polish=False)
    joined = [["a", "xyz", "ship", "the", "wave"], ["mast", "xyz"]]
    apart = ["a x y z ship the wave, x y", "mast x y z"]
    one, other = model.embed("xyz", joined), model.embed("x y z", apart)
    assert one.occurrences == other.occurrences == 2
    assert np.allclose(one.vector, other.vector, atol=1e-5)


def test_contexts_are_counted_as_the_text_was(counts: Cooccurrence) -> None:
    """Without subsampling the row of a known word is that of the counts, bit by bit."""
    documents = topic_documents()
    plain = Cooccurrence.count(Corpus.from_documents(documents), 3, "flat")
    model = qwem.fit(plain, dim=DIM, polish=False)
    rows = model.embed_rows(plain.symmetric.tocsr()[[plain.vocabulary.index("ship")]])
    others = [document.lower().replace("ship", "vessel") for document in documents]
    for word, texts in (("ship", documents), ("vessel", others)):
        found = model.embed(word, texts)
        assert found.occurrences == plain.word_counts[plain.vocabulary.index("ship")]
        # A window of "vessel" in place of "ship" has no "ship" in it.
        tolerance = 1e-6 if word == "ship" else 0.05
        assert np.abs(found.vector - rows.vectors[0]).max() < tolerance


@pytest.mark.parametrize("polish", [False, True])
def test_standard_errors_are_those_of_other_texts(
    counts: Cooccurrence, polished: Model, polish: bool
) -> None:
    """The spread of vectors from many samples of a word's contexts is what one sample predicts."""
    model = polished if polish else qwem.fit(counts, dim=DIM, polish=False)
    row = counts.symmetric.toarray()[counts.vocabulary.index("ship")].astype(np.float64)
    draws = np.random.default_rng(0).poisson(row / row.sum() * 150, (200, len(row)))
    found = model.embed_rows(draws, dispersion=1.0)
    spread = found.vectors.std(axis=0)
    predicted = np.sqrt((found.standard_errors**2).mean(axis=0))
    assert np.all(predicted / spread > 0.6)
    assert np.all(predicted / spread < 1.6)


def test_standard_errors_of_a_new_word_are_those_of_other_documents(counts: Cooccurrence) -> None:
    """Each document has one topic, so that its occurrences are not independent."""
    model = qwem.fit(counts, dim=DIM, polish=False)
    rng = np.random.default_rng(0)
    topics = [words.split() for words in TOPICS.values()]

    def document() -> str:
        topic = topics[rng.integers(len(topics))]
        return " ".join(f"{rng.choice(topic)} zzz {rng.choice(topic)} a" for _ in range(6))

    found = [model.embed("zzz", [document() for _ in range(15)]) for _ in range(40)]
    spread = np.array([each.vector for each in found]).var(axis=0).sum()
    predicted = np.mean([np.trace(each.covariance) for each in found])
    assert 0.7 < predicted / spread < 1.4


def test_one_occurrence_has_no_standard_error(polished: Model) -> None:
    found = polished.embed("zzz", ["the rose of a zzz"])
    assert np.isnan(found.similarity("rose")[1])
    assert found.heading() == "zzz: found once, so standard errors are unknown.\n"
    assert json.loads(json.dumps(found.to_dict()))["neighbours"][0]["error"] is None
    twice = polished.embed("zzz", ["the rose of a zzz at the tree and a zzz"])
    assert twice.similarity("rose")[1] > 0


def test_counts_are_taken_in_any_form(counts: Cooccurrence, polished: Model) -> None:
    word, other = polished.vocabulary.words[40:42]
    mapping = {word: 3, other: 5, "unheard": 9}
    dense = np.zeros(len(polished.vocabulary))
    dense[40:42] = 3, 5
    vectors = [
        polished.embed_rows(form).vectors
        for form in (mapping, [mapping], dense, [dense], sparse.coo_array(dense[None]))
    ]
    assert all(np.array_equal(vectors[0], other) for other in vectors[1:])


def test_saved_models_embed_the_same(polished: Model, tmp_path: Path) -> None:
    polished.save(tmp_path / "model")
    row = {"ship": 4, "wave": 3}
    ours, theirs = (m.embed_rows(row) for m in (polished, Model.load(tmp_path / "model")))
    assert np.allclose(ours.vectors, theirs.vectors, rtol=1e-5)
    assert np.allclose(ours.covariances, theirs.covariances, rtol=1e-4)


def test_what_can_not_be_embedded(counts: Cooccurrence, polished: Model) -> None:
    with pytest.raises(CountError, match="Row 1 has no counts with any of the 86 words"):
        polished.embed_rows([{"ship": 1}, {"unheard": 2}])
    with pytest.raises(CountError, match="one count for each of the 86 words"):
        polished.embed_rows([[1, 2, 3]])
    with pytest.raises(CountError, match="not negative"):
        polished.embed_rows({"ship": -1})
    closed = qwem.fit(counts, dim=DIM, polish=False)
    with pytest.raises(SettingError, match="occurrences needs 1 positive"):
        closed.embed_rows({"ship": 1}, [0])
    unknown = Cooccurrence.from_matrix("abc", [[4, 2, 1], [2, 0, 3], [1, 3, 2]])
    with pytest.raises(SettingError, match="window is not known"):
        qwem.fit(unknown, dim=2).embed("d", ["a d b"])
