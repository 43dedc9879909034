"""From text to a model in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from qwem import Cooccurrence, Corpus, Model, Settings
from qwem.dynamics import closed_form
from qwem.errors import ArtefactError, RankError, SettingError
from qwem.model import PRESETS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def corpus(shared_data: Path) -> Corpus:
    return Corpus.from_files(
        shared_data / "enwiki-2M.parquet", vocab_size=3000, min_tokens=500, tokenizer="ascii"
    )


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> Model:
    return qwem.fit(corpus, dim=50)


def test_words_have_sensible_neighbours(model: Model) -> None:
    neighbours = {word for word, _ in model.wv.most_similar("music", topn=10)}
    assert neighbours & {"musical", "songs", "song", "jazz", "rock", "pop", "band"}
    assert model.embedding().similarity("king", "queen") > model.wv.similarity("king", "software")


def test_it_equals_the_plain_formula(corpus: Corpus, model: Model) -> None:
    """Theorem 3.2 in five lines of NumPy, in double precision."""
    counts = Cooccurrence.count(corpus)
    pair = counts.pair_counts.toarray() / counts.pair_counts.total
    word = counts.word_counts / counts.word_counts.sum()
    independent = np.outer(word, word)
    values, vectors = np.linalg.eigh(2 * (pair - independent) / (pair + independent))
    top = vectors[:, :-51:-1] * np.sqrt(values[:-51:-1])
    ours = model.embedding().vectors
    assert np.allclose(model.spectrum.eigenvalues, values[:-51:-1], rtol=1e-3)
    gram, expected = ours @ ours.T, top @ top.T
    assert np.abs(gram - expected).max() < 0.02 * np.abs(expected).max()


def test_threads_do_not_matter(corpus: Corpus, model: Model) -> None:
    again = qwem.fit(corpus, dim=50, threads=2)
    ours, theirs = model.embedding().vectors, again.embedding().vectors
    gram = ours @ ours.T
    assert np.allclose(again.spectrum.eigenvalues, model.spectrum.eigenvalues, rtol=1e-5)
    assert np.abs(theirs @ theirs.T - gram).max() < 1e-3 * np.abs(gram).max()


def test_the_same_fit_gives_the_same_bits(corpus: Corpus, model: Model) -> None:
    again = qwem.fit(corpus, dim=50)
    assert again.embedding().vectors.tobytes() == model.embedding().vectors.tobytes()


def test_smaller_models_are_prefixes(model: Model) -> None:
    assert np.array_equal(model.embedding(dim=20).vectors, model.embedding().vectors[:, :20])


def test_training_can_be_stopped_early(model: Model) -> None:
    early, late = model.embedding(time=1e-3), model.embedding(time=np.inf)
    assert np.allclose(late.vectors, model.wv.vectors, atol=1e-5)
    learned = np.linalg.norm(early.vectors, axis=0) / np.linalg.norm(late.vectors, axis=0)
    assert learned.max() < 1e-3
    first = closed_form(model.spectrum, init_scale=1e-6).learning_times[0]
    between = model.embedding(time=2 * first)
    learned = np.linalg.norm(between.vectors, axis=0) / np.linalg.norm(late.vectors, axis=0)
    assert learned[0] > 0.99
    assert learned[-1] < 0.01
    with pytest.raises(SettingError, match="can't both be given"):
        model.embedding(time=1.0, exponent=0.0)


def test_saved_models_come_back(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.settings == model.settings
    assert loaded.corpus == model.corpus
    assert loaded.vocabulary == model.vocabulary
    assert loaded.wv.vectors.tobytes() == model.wv.vectors.tobytes()
    assert loaded.corpus["fingerprint"] == model.corpus["fingerprint"]
    with pytest.raises(ArtefactError, match="holds a model, not a cooccurrence"):
        Cooccurrence.load(tmp_path / "model")


def test_polishing_is_part_of_a_fit(corpus: Corpus, tmp_path: Path) -> None:
    polished = qwem.fit(corpus, preset="practical", dim=20, polish=True)
    closed = polished.spectrum.embedding()
    assert polished.wv.vectors.shape == closed.vectors.shape
    assert not np.allclose(polished.wv.vectors, closed.vectors, atol=0.1)
    polished.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.polished is not None
    assert polished.polished is not None
    for ours, theirs in zip(polished.polished, loaded.polished, strict=True):
        assert np.array_equal(ours.vectors, theirs.vectors)
    assert np.array_equal(loaded.wv.vectors, polished.wv.vectors)
    with pytest.raises(SettingError, match="one dimension"):
        loaded.embedding(dim=10)


def test_any_stage_can_be_handed_in(corpus: Corpus, model: Model) -> None:
    from_counts = qwem.fit(Cooccurrence.count(corpus), dim=50)
    assert from_counts.wv.vectors.tobytes() == model.wv.vectors.tobytes()


def test_documents_of_a_generator(tmp_path: Path) -> None:
    documents = ["the king and the queen", "a cat and a dog"] * 5
    (tmp_path / "text.txt").write_text("\n".join(documents) + "\n")
    expected = qwem.fit(tmp_path / "text.txt", dim=1).wv
    for source in (
        documents,
        iter(documents),
        [d.split() for d in documents],
        (d for d in documents),
    ):
        found = qwem.fit(source, dim=1).wv
        assert found.index_to_key == expected.index_to_key
        assert np.array_equal(found.vectors, expected.vectors)


@pytest.mark.parametrize("target", ["pmi", "ppmi", "mstar"])
def test_every_target(corpus: Corpus, target: str) -> None:
    fitted = qwem.fit(corpus, dim=10, target=target)
    assert fitted.spectrum.converged
    assert fitted.settings["target"] == target


def test_presets_are_rows_of_one_table() -> None:
    assert set(PRESETS) == {"paper", "practical"}
    assert Settings.of("paper") == Settings(tokenizer="ascii", min_tokens=500)
    assert Settings.of("practical", window=3).window == 3
    assert Settings.of("practical").signed


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"preset": "best"}, SettingError, "no preset 'best'; there are paper, practical"),
        ({"dimension": 3}, SettingError, "no setting 'dimension'"),
        ({"target": "glove"}, SettingError, "mstar, pmi or ppmi, not 'glove'"),
        ({"target": "pmi", "negatives": 5}, SettingError, "belong to M\\*"),
        ({"dim": 4}, RankError, "positive"),
    ],
)
def test_bad_settings(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        qwem.fit(["a b c d"] * 3, **options)
