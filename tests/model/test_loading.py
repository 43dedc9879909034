"""Whatever was saved is loaded by one function, and a model is asked for words directly."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from model.topics import topic_documents
from qwem.cli import main
from qwem.comparison import stability
from qwem.embedding import write_hub
from qwem.errors import ArtefactError, UnknownWordError
from qwem.model import _LOADERS

if TYPE_CHECKING:
    from pathlib import Path


def test_every_kind_is_loaded(tmp_path: Path) -> None:
    corpus = qwem.Corpus.from_documents(topic_documents(200))
    counts = qwem.Cooccurrence.count(corpus, 5)
    target = qwem.mstar(counts)
    model = qwem.fit(corpus, dim=3, keep_counts=True)
    replicated = stability(corpus, folds=2, dim=3, polish=False)
    saved: list[Any] = [corpus, counts, target, model, model.spectrum, model.wv, replicated]
    for number, one in enumerate(saved):
        one.save(tmp_path / str(number))
        assert type(qwem.load(tmp_path / str(number))) is type(one)
    vectors = tmp_path / "vectors.txt"
    model.wv.save_word2vec_format(vectors)
    assert isinstance(qwem.load(vectors), qwem.Embedding)
    with pytest.raises(ArtefactError, match="belongs to another artefact"):
        qwem.load(next(tmp_path.glob("3/*/metadata.json")).parent.parent / "update-state")


@pytest.mark.parametrize("loader", _LOADERS.values())
def test_every_kind_has_a_loader(loader: str) -> None:
    assert callable(resolve_name(f"qwem.{loader}"))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_a_hub_folder_is_loaded_as_its_vectors(dtype: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = qwem.Embedding(["king", "[UNK]", "naïve"], rng.normal(size=(3, 4)))
    write_hub(words, tmp_path / "hub", tokenizer="letters", dtype=dtype)
    found = qwem.load(tmp_path / "hub")
    assert found.index_to_key == words.index_to_key
    np.testing.assert_allclose(found.vectors, words.vectors, atol=0.02)
    assert found.provenance["tokenizer"] == "letters"
    assert main(["similar", str(tmp_path / "hub"), "king"]) == 0
    (tmp_path / "hub" / "tokenizer.json").write_text("{}")
    with pytest.raises(ArtefactError, match="is damaged"):
        qwem.load(tmp_path / "hub")


def test_a_model_is_asked_for_words() -> None:
    model = qwem.fit(topic_documents(200), dim=3)
    word = model.vocabulary.words[0]
    assert word in model
    assert "zzz" not in model
    assert np.array_equal(model[word], model.wv[word])
    assert model.most_similar(word, topn=3) == model.wv.most_similar(word, topn=3)
    with pytest.raises(UnknownWordError):
        model["zzz"]
