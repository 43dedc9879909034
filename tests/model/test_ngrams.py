"""Fits with spelling: rare words gain, unseen words have vectors, updates and files keep both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from qwem import Model

if TYPE_CHECKING:
    from pathlib import Path

STEMS = [
    f"{a}{b}{c}" for a in ("bl", "dr", "fl", "gr") for b in "aeiou" for c in ("mp", "nt", "sk")
]
ENDINGS = {"ing": "quickly often", "ness": "great deep", "able": "very quite", "s": "many several"}


def documents(count: int, seed: int = 0) -> list[str]:
    """Words whose ending says which words stand around them, and a rare one of each kind."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        ending, around = list(ENDINGS.items())[number % len(ENDINGS)]
        before, after = around.split()
        words = rng.choice(
            STEMS, 4, p=np.arange(len(STEMS), 0, -1) / np.arange(len(STEMS) + 1).sum()
        )
        found.append(" ".join(f"{before} {word}{ending} {after}" for word in words))
    return found


@pytest.fixture(scope="module")
def model() -> Model:
    settings: Any = {"dim": 8, "window": 3, "min_count": 3, "subsample": None, "keep_counts": True}
    return qwem.fit(documents(800), ngrams=True, **settings)


def kind(word: str) -> str:
    return next(ending for ending in ENDINGS if word.endswith(ending))


def test_how_strong_spelling_is_follows_from_the_text(model: Model) -> None:
    assert model.polished is not None
    found = model.polished.settings["spelling"]
    assert 0.3 < found["explained"] <= 0.9
    assert found["evidence"] == pytest.approx(100 / (1 - found["explained"]))


def test_words_never_seen_are_near_words_of_their_kind(model: Model) -> None:
    for word in ("plonking", "plonkness", "plonkable"):
        assert word not in model.wv
        near = [each for each, _ in model.wv.most_similar(word, topn=5)]
        assert sum(each.endswith(kind(word)) for each in near) >= 4


def test_without_ngrams_spelling_never_enters() -> None:
    """Other letters for the same words change nothing."""
    texts = documents(400)
    letters = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")
    one, two = (
        qwem.fit(each, dim=6, min_count=3, subsample=None)
        for each in (texts, [text.translate(letters) for text in texts])
    )
    assert one.wv.spelling is None
    words = list(one.vocabulary)
    ours, theirs = one.wv[words], two.wv[[word.translate(letters) for word in words]]
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=2e-2)


def test_updates_and_files_keep_the_prior(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert model.polished is not None
    assert loaded.polished is not None
    for name in ("words", "contexts", "means"):
        ours, theirs = (getattr(each.start, name) for each in (model.polished, loaded.polished))
        np.testing.assert_array_equal(ours, theirs)
    later = loaded.update(documents(40, seed=1))
    assert later.polished is not None
    assert later.polished.settings["spelling"] == model.polished.settings["spelling"]
    near = [word for word, _ in later.wv.most_similar("plonking", topn=5)]
    assert sum(word.endswith("ing") for word in near) >= 4
    shared = list(model.vocabulary)[:60]
    ours, theirs = (each.wv[shared] @ each.wv[shared].T for each in (model, later))
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.95
