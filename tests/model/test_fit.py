"""From text to a model in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from in_threads import in_threads
from model.topics import TOPICS, topic_documents, topic_of
from qwem import Cooccurrence, Corpus, Model, Settings
from qwem.dynamics import closed_form
from qwem.errors import ArtefactError, CorpusError, RankError, SettingError

if TYPE_CHECKING:
    from pathlib import Path

DIM = 8


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_documents(topic_documents())


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> Model:
    return qwem.fit(corpus, preset="paper", dim=DIM)


def test_words_are_near_those_of_their_topic(model: Model) -> None:
    for words in TOPICS.values():
        for word in words.split():
            near = [other for other, _ in model.wv.most_similar(word, topn=5)]
            assert [topic_of(other) for other in near] == [topic_of(word)] * 5


def test_words_of_a_text_have_sensible_neighbours(text_corpus: Corpus) -> None:
    model = qwem.fit(text_corpus, dim=40)
    neighbours = {word for word, _ in model.wv.most_similar("music", topn=10)}
    assert neighbours & {"musical", "songs", "song", "jazz", "rock", "pop", "band"}
    assert model.wv.similarity("king", "queen") > model.wv.similarity("king", "software")


def test_it_equals_the_plain_formula(corpus: Corpus, model: Model) -> None:
    """Theorem 3.2 in five lines of NumPy, in double precision."""
    counts = Cooccurrence.count(corpus)
    pair = counts.symmetric.toarray() / counts.symmetric.total
    word = counts.word_counts / counts.word_counts.sum()
    independent = np.outer(word, word)
    values, vectors = np.linalg.eigh(2 * (pair - independent) / (pair + independent))
    top = vectors[:, : -DIM - 1 : -1] * np.sqrt(values[: -DIM - 1 : -1])
    ours = model.embedding().vectors
    assert np.allclose(model.spectrum.eigenvalues, values[: -DIM - 1 : -1], rtol=1e-3)
    gram, expected = ours @ ours.T, top @ top.T
    assert np.abs(gram - expected).max() < 0.02 * np.abs(expected).max()


def test_threads_do_not_matter(corpus: Corpus, model: Model) -> None:
    again = in_threads(2, lambda: qwem.fit(corpus, preset="paper", dim=DIM))
    ours, theirs = model.embedding().vectors, again.embedding().vectors
    gram = ours @ ours.T
    assert np.allclose(again.spectrum.eigenvalues, model.spectrum.eigenvalues, rtol=1e-5)
    assert np.abs(theirs @ theirs.T - gram).max() < 1e-3 * np.abs(gram).max()


def test_the_same_fit_gives_the_same_bits(corpus: Corpus, model: Model) -> None:
    again = qwem.fit(corpus, preset="paper", dim=DIM)
    assert again.embedding().vectors.tobytes() == model.embedding().vectors.tobytes()


def test_smaller_models_are_prefixes(model: Model) -> None:
    assert np.array_equal(model.embedding(dim=3).vectors, model.embedding().vectors[:, :3])


def test_training_can_be_stopped_early(model: Model) -> None:
    early, late = model.embedding(time=1e-3), model.embedding(time=np.inf)
    assert np.allclose(late.vectors, model.wv.vectors, atol=1e-5)
    learned = np.linalg.norm(early.vectors, axis=0) / np.linalg.norm(late.vectors, axis=0)
    assert learned.max() < 1e-3
    times = closed_form(model.spectrum, init_scale=1e-6).learning_times
    between = model.embedding(time=(times[4] + times[-1]) / 2)
    learned = np.linalg.norm(between.vectors, axis=0) / np.linalg.norm(late.vectors, axis=0)
    assert learned[0] > 0.99
    assert learned[-1] < 0.5
    with pytest.raises(SettingError, match="can't both be given"):
        model.embedding(time=1.0, exponent=0.0)


def test_saved_models_come_back(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.settings == model.settings
    assert loaded.corpus == model.corpus
    assert loaded.vocabulary == model.vocabulary
    assert loaded.wv.vectors.tobytes() == model.wv.vectors.tobytes()
    with pytest.raises(ArtefactError, match="holds a model, not a cooccurrence"):
        Cooccurrence.load(tmp_path / "model")


def test_polishing_is_part_of_a_fit(corpus: Corpus, tmp_path: Path) -> None:
    polished = qwem.fit(corpus, dim=DIM)
    closed = polished.spectrum.embedding()
    assert polished.wv.vectors.shape == closed.vectors.shape
    assert not np.allclose(polished.wv.vectors, closed.vectors, atol=0.1)
    polished.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.polished is not None
    assert polished.polished is not None
    assert np.array_equal(loaded.polished.contexts.vectors, polished.polished.contexts.vectors)
    assert np.array_equal(loaded.wv.vectors, polished.wv.vectors)
    with pytest.raises(SettingError, match="one dimension"):
        loaded.embedding(dim=3)


def test_any_stage_can_be_handed_in(corpus: Corpus, model: Model) -> None:
    from_counts = qwem.fit(Cooccurrence.count(corpus), preset="paper", dim=DIM)
    assert from_counts.wv.vectors.tobytes() == model.wv.vectors.tobytes()


def test_every_kind_of_text_is_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = ["the king and the queen", "a cat and a dog"] * 5
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(documents) + "\n")
    (tmp_path / "first.txt").write_text("\n".join(documents[:5]) + "\n")
    (tmp_path / "second.txt").write_text("\n".join(documents[5:]) + "\n")
    expected = qwem.fit("text.txt", dim=1).wv
    for source in (
        tmp_path / "text.txt",
        ["first.txt", "second.txt"],
        [tmp_path / "first.txt", tmp_path / "second.txt"],
        documents,
        iter(documents),
        [d.split() for d in documents],
        (d for d in documents),
    ):
        found = qwem.fit(source, dim=1).wv
        assert found.index_to_key == expected.index_to_key
        assert np.array_equal(found.vectors, expected.vectors)


@pytest.mark.parametrize("target", ["pmi", "ppmi", "mstar"])
def test_a_fit_can_use_every_target(corpus: Corpus, target: Any) -> None:
    fitted = qwem.fit(corpus, dim=4, target=target, polish=False)
    assert fitted.spectrum.converged
    assert fitted.settings["target"] == target
    assert ("negatives" in fitted.settings) == (target == "mstar")


def test_settings_may_be_one_object(corpus: Corpus) -> None:
    settings = Settings.of("paper", dim=3)
    changed = qwem.fit(corpus, settings, window=2)
    assert changed.settings == qwem.fit(corpus, preset="paper", dim=3, window=2).settings
    assert changed.settings["window"] == 2
    with pytest.raises(SettingError, match="pass one of the two"):
        qwem.fit(corpus, settings, preset="paper")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"preset": "top"}, SettingError, "no preset 'top'; there are practical, best, paper"),
        ({"target": "glove"}, SettingError, "'mstar', 'pmi' or 'ppmi', not 'glove'"),
        ({"target": "pmi", "negatives": 5}, SettingError, "settings of M\\*, not of pmi"),
        ({"dim": 4, "signed": False}, RankError, "positive"),
        ({"min_tokens": 9}, CorpusError, "the longest has 4 words, and `min_tokens` is 9"),
    ],
)
def test_what_can_not_be_done(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        qwem.fit(["a b c d"] * 3, **options)


def test_strings_that_name_files_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    for name, part in (("a.txt", documents[:9]), ("b.txt", documents[9:])):
        (tmp_path / name).write_text("\n".join(part))
    expected = qwem.fit(documents, dim=1).embedding().vectors
    for paths in (["a.txt", "b.txt"], ("a.txt", "b.txt"), [tmp_path / "a.txt", tmp_path / "b.txt"]):
        np.testing.assert_array_equal(qwem.fit(paths, dim=1).embedding().vectors, expected)
    with pytest.raises(CorpusError, match=r"c\.txt does not exist, and all strings given look"):
        qwem.fit(["a.txt", "c.txt"])
