"""Whatever was saved is loaded by one function, and a model is asked for words directly."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from model.topics import topic_documents
from qwem.comparison import stability
from qwem.errors import ArtefactError, UnknownWordError
from qwem.model import _HOMES

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


@pytest.mark.parametrize("home", _HOMES.values())
def test_every_kind_has_a_class_that_loads_it(home: str) -> None:
    module, _, name = f"qwem.{home}".rpartition(".")
    assert callable(getattr(import_module(module), name).load)


def test_a_model_is_asked_for_words() -> None:
    model = qwem.fit(topic_documents(200), dim=3)
    word = model.vocabulary.words[0]
    assert word in model
    assert "zzz" not in model
    assert np.array_equal(model[word], model.wv[word])
    assert model.most_similar(word, topn=3) == model.wv.most_similar(word, topn=3)
    with pytest.raises(UnknownWordError):
        model["zzz"]
