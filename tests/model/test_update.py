"""Updates: more text or less, without another fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from model.topics import topic_documents
from qwem import Cooccurrence, Corpus, Model
from qwem.comparison import diff_models
from qwem.dynamics.flow import requiv_distance
from qwem.errors import CorpusError, CountError, SettingError
from qwem.model.model import ClosedForm

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.model.updating import UpdateState

DIM = 8
OLD, NEW = topic_documents(3000), topic_documents(150, seed=1)


def fitted(slots: str) -> Model:
    settings: Any = {"dim": DIM, "window": 5, "slots": slots, "subsample": 0.02}
    return qwem.fit(OLD, polish=False, keep_counts=True, **settings)


@pytest.fixture(scope="module")
def model() -> Model:
    return fitted("sides")


def kept(model: Model) -> UpdateState:
    assert model.update_state is not None
    return model.update_state


@pytest.mark.parametrize("slots", ["sides", "bigrams"])
def test_counts_are_those_of_all_text_together(slots: str) -> None:
    """With the words and the thinning of the first text, bit by bit."""
    model = fitted(slots)
    updated = model.update(NEW)
    whole = Corpus.from_documents([*OLD, *NEW]).recode(kept(model).words)
    expected = Cooccurrence.count(whole, 5, slots=slots, subsample=0.02)
    assert kept(updated).counts == expected
    assert len(kept(updated).documents) == 3150


def test_passages_are_added_and_removed_as_windows_are() -> None:
    old, new = (
        [" ".join(sentences[at : at + 10]) for at in range(0, len(sentences), 10)]
        for sentences in (OLD[:1000], NEW)
    )
    options: dict[str, Any] = {"subsample": 0.02, "passages": 40}
    model = qwem.fit(old, dim=DIM, window=5, slots="sides", keep_counts=True, **options)
    more = model.update(new)
    whole = Corpus.from_documents([*old, *new]).recode(kept(model).words)
    expected = Cooccurrence.count(whole, 5, **options)
    assert kept(more).counts == expected
    assert expected.passages is not None
    assert len(expected.passages) > 200
    assert kept(more.update(remove=new[::-1])).counts == kept(model).counts


@pytest.mark.parametrize("polish", [False, True])
def test_it_is_nearly_a_fresh_fit(polish: bool) -> None:
    settings: dict[str, Any] = {"dim": DIM, "subsample": 0.02, "polish": polish, "tol": 1e-5}
    updated = qwem.fit(OLD, keep_counts=True, **settings).update(NEW)
    fresh = qwem.fit([*OLD, *NEW], **settings)
    words = list(fresh.vocabulary)
    ours, theirs = updated.wv[words], fresh.wv[words]
    size = float(np.linalg.norm(theirs))
    # Thinned out by the frequencies of all text, a fresh fit counts a few other tokens.
    assert requiv_distance(ours, theirs) < (0.15 if polish else 0.05) * size
    same = qwem.fit(kept(updated).counts, dim=DIM, polish=polish, tol=1e-5)
    distance = requiv_distance(updated.wv.vectors, same.wv[list(updated.vocabulary)])
    # Polishing stops early, and a second one goes on where the first has stopped.
    assert distance < (0.15 if polish else 1e-3) * size


def test_polished_vectors_start_moved_as_the_closed_form_has() -> None:
    """Not at all if it has only turned; a new word does not start from nothing."""
    model = qwem.fit(OLD, dim=DIM, window=5, subsample=None, keep_counts=True)
    solution = model.polished
    assert solution is not None
    word, context, *_ = solution.start
    signs = np.where(np.arange(DIM) % 2, -1, 1).astype(np.float32)
    turned = replace(model.spectrum, eigenvectors=model.spectrum.eigenvectors * signs)
    for found, expected in zip(solution.warm_start(turned)[:2], (word, context), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-3)
    texts = [text.replace("bee", "unicorn") for text in topic_documents(1500, seed=5)]
    updated = model.update(texts)
    row, shared = updated.vocabulary.index("unicorn"), list(model.vocabulary)
    start = solution.warm_start(updated.spectrum)[0][row]
    assert np.linalg.norm(start) > 0.1 * np.linalg.norm(word, axis=1).mean()
    fresh = qwem.fit(kept(updated).counts, dim=DIM)
    distance = requiv_distance(updated.wv[shared], fresh.wv[shared])
    assert distance < 0.8 * requiv_distance(model.wv[shared], fresh.wv[shared])
    assert updated.wv.similarity("unicorn", "flower") > 0.5
    assert updated.wv.similarity("unicorn", "ship") < 0.3


def test_removing_what_was_added_gives_the_counts_back(model: Model) -> None:
    """Whatever the order of the documents, and though a word entered meanwhile."""
    unicorns = ["a unicorn and the king", "rain on a unicorn"] * 20
    more = model.update([*NEW, *unicorns])
    assert "unicorn" in more.vocabulary
    back = more.update(remove=[*unicorns[::-1], *NEW[50:], *NEW[:50]])
    assert kept(back).counts == kept(model).counts
    first = more.update(remove=OLD[:100])
    rest = Corpus.from_documents(OLD).documents(100, 3000).recode(kept(model).words)
    expected = Cooccurrence.count(rest, 5, subsample=0.02)
    assert kept(first.update(remove=[*NEW, *unicorns])).counts == expected
    with pytest.raises(CorpusError, match=r"Document 2 .* is not in the text of the model"):
        model.update(remove=[OLD[0], "a king of the queen of the king of the queen"])
    with pytest.raises(CorpusError, match="is not in the text"):
        first.update(remove=OLD[:1])


@pytest.mark.parametrize("oov", ["drop", "mask"])
def test_a_document_that_differs_in_a_late_word_is_another(oov: Any, tmp_path: Path) -> None:
    options: Any = {"dim": DIM, "window": 5, "subsample": None, "polish": False, "oov": oov}
    model = qwem.fit(OLD[:500], keep_counts=True, **options)
    unicorns = ["a unicorn and the king", "a dragon and the king"] * 20
    more = model.update(unicorns).update(["the unicorn and the dragon"])
    more.save(tmp_path / "model")
    more = Model.load(tmp_path / "model")
    for never_added in (
        "a unicorn and the dragon king",  # a word more, which entered with the document
        "a phoenix and the king",  # a word that never occurred
        "a king and the unicorn",
    ):
        with pytest.raises(CorpusError, match="is not in the text of the model"):
            more.update(remove=[never_added])
    if oov == "drop":  # and nothing of the first text was dropped
        with pytest.raises(CorpusError, match="is not in the text of the model"):
            more.update(remove=[f"{OLD[0]} unicorn"])
    back = more.update(remove=["the unicorn and the dragon", *unicorns, OLD[0]])
    assert kept(back).counts == kept(model.update(remove=[OLD[0]])).counts


def test_a_word_of_the_first_text_that_enters_late_was_not_counted_there() -> None:
    texts = [*OLD[:500], "the unicorn of the king", "a ship in the rain"]
    options: Any = {"dim": DIM, "min_count": 3, "window": 5, "subsample": None, "polish": False}
    model = qwem.fit(texts, keep_counts=True, **options)
    assert "unicorn" not in model.vocabulary
    later = model.update(["a unicorn of the sea", "a unicorn in the rain"] * 2)
    assert kept(later).counts.word_counts[later.vocabulary.index("unicorn")] == 4
    without = later.update(remove=texts[500:501])
    assert kept(without).counts.word_counts[without.vocabulary.index("unicorn")] == 4
    assert kept(without).counts["king", "the"] == kept(later).counts["king", "the"] - 8


def test_words_enter_at_min_count_and_leave_when_they_are_gone() -> None:
    model = qwem.fit(OLD, dim=DIM, min_count=20, polish=False, keep_counts=True)
    others = topic_documents(4000, seed=5)
    texts = [text.replace("bee", "unicorn") for text in others if " bee" in text]
    once = model.update(texts[:19])
    assert "unicorn" not in once.vocabulary
    twice = once.update(texts[19:])
    assert "unicorn" in twice.vocabulary
    assert twice.wv.similarity("unicorn", "flower") > twice.wv.similarity("unicorn", "ship")
    found = diff_models(model, twice)
    assert found.entered == ("unicorn",)
    assert found.left == ()
    assert "1 word entered: unicorn" in found.to_text()
    gone = twice.update(remove=texts[19:])
    assert "unicorn" not in gone.vocabulary
    assert diff_models(twice, gone).left == ("unicorn",)


def test_features_keep_their_signs(model: Model) -> None:
    opposite = replace(model.spectrum, eigenvectors=-model.spectrum.eigenvectors)
    flipped = replace(model, solution=ClosedForm(opposite))
    for start, sign in ((model, 1), (flipped, -1)):
        updated = start.update(NEW)
        words = list(model.vocabulary)
        old, new = model.spectrum.embedding()[words], updated.spectrum.embedding()[words]
        products = np.sum(old * new, axis=0)
        cosines = products / np.linalg.norm(old, axis=0) / np.linalg.norm(new, axis=0)
        assert np.all(sign * cosines[:4] > 0.5)
    found = diff_models(model, updated, topn=3)
    assert [each.before for each in found.features] == list(range(1, DIM + 1))
    assert sorted(each.after for each in found.features) == list(range(1, DIM + 1))
    assert found.median < 0.1
    assert len(found.words) == 3
    assert "features are the same" in found.to_text()
    shown = found.to_dict()
    assert shown["words"][0]["word"] == found.words[0].word
    assert shown["provenance"]["settings"]["after"]["dim"] == DIM


def test_a_model_that_is_compared_with_itself_has_not_moved(model: Model) -> None:
    found = diff_models(model, model)
    assert found.median < 1e-6
    assert all(each.before == each.after and each.overlap > 0.999 for each in found.features)
    assert all(not each.came and not each.went for each in found.words)


def test_counts_and_saved_models_can_be_updated(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    ours, theirs = model.update(NEW), loaded.update(NEW)
    assert kept(theirs).counts == kept(ours).counts
    assert np.allclose(ours.wv.vectors, theirs.wv.vectors, atol=1e-4)
    counts = Cooccurrence.count(Corpus.from_documents(NEW), 5)
    more = model.update(counts)
    assert kept(more).counts["king", "the"] == sum(
        each["king", "the"] for each in (counts, kept(model).counts)
    )
    assert kept(more.update(remove=counts)).counts == kept(model).counts
    weights = (5, 4, 3, 2, 1)
    strange = Cooccurrence.from_matrix(["x", "y"], [[0, 1], [0, 0]], weights=weights, directed=True)
    with pytest.raises(CountError, match="which don't have the words x, y"):
        model.update(remove=strange)
    assert kept(model.update(strange).update(["x y x"])).counts["x", "y"] == 11


def test_a_model_of_thinned_counts_goes_on_thinning_by_estimated_frequencies() -> None:
    corpus = Corpus.from_documents(OLD)
    counts = Cooccurrence.count(corpus, 5, subsample=0.02)
    words = kept(qwem.fit(counts, dim=2, polish=False, keep_counts=True)).words
    assert words.words == corpus.vocabulary.words
    assert np.allclose(words.counts[:10], corpus.vocabulary.counts[:10], rtol=0.2)


def test_models_without_counts_say_so(model: Model) -> None:
    without = qwem.fit(OLD, dim=2, polish=False)
    assert without.update_state is None
    with pytest.raises(SettingError, match="does not have its counts; fit it with `keep_counts"):
        without.update(NEW)
    with pytest.raises(SettingError, match="nothing to update with"):
        model.update()
    with pytest.raises(CorpusError, match="No text of the model would be left"):
        model.update(remove=OLD)
    matrix = Cooccurrence.from_matrix(["x", "y", "z"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    unknown = qwem.fit(matrix, dim=1, polish=False, keep_counts=True)
    assert unknown.update_state is not None
    assert unknown.update_state.words.words == ("x", "z", "y")
    assert unknown.update_state.words.counts.tolist() == [3, 3, 2]
    with pytest.raises(SettingError, match="window of this model's counts is not known"):
        unknown.update(["x y"])
