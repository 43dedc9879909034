"""What is left to qwem is chosen for the text at hand, and said in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from model.topics import topic_documents
from qwem import Cooccurrence, Corpus, Settings, Vocabulary
from qwem.cooccurrence.contexts import original_vocabulary
from qwem.errors import CorpusError
from qwem.model import fit, fitting
from qwem.model.fitting import count, read
from qwem.model.settings import resolve_auto

if TYPE_CHECKING:
    from pathlib import Path


def vocabulary(words: int, each: int) -> Vocabulary:
    return Vocabulary.from_counts({f"word{i}": each for i in range(words)})


@pytest.mark.parametrize(
    ("words", "each", "dim"),
    [(100_000, 200, 200), (20_000, 100, 101), (2_000, 9, 21), (500, 40_000, 50), (12, 9, 1)],
)
def test_the_dimension_follows_length_and_vocabulary(words: int, each: int, dim: int) -> None:
    assert resolve_auto(Settings(), vocabulary(words, each)).dim == dim
    assert resolve_auto(Settings(dim=7), vocabulary(words, each)).dim == 7


@pytest.mark.parametrize(
    ("length", "subsample"), [(10**7, 1e-3), (10**6, 1e-3), (10**5, 1e-2), (10**3, None)]
)
def test_small_text_is_subsampled_less(length: int, subsample: float | None) -> None:
    assert resolve_auto(Settings(), vocabulary(10, length // 10)).subsample == subsample
    assert resolve_auto(Settings(subsample=None), vocabulary(10, length // 10)).subsample is None


@pytest.mark.parametrize(
    ("length", "window"), [(10**9, 6), (16 * 10**6, 6), (2 * 10**6, 9), (10**6, 10), (1000, 12)]
)
def test_small_text_has_wider_windows(length: int, window: int) -> None:
    assert resolve_auto(Settings(), vocabulary(10, length // 10)).window == window
    assert resolve_auto(Settings(window=3), vocabulary(10, length // 10)).window == 3
    assert resolve_auto(Settings(weights=[9, 4]), vocabulary(10, length // 10)).window == 2


@pytest.mark.parametrize("target", ["pmi", "ppmi"])
def test_settings_of_mstar_are_for_mstar(target: Any) -> None:
    settled = resolve_auto(Settings(target=target), vocabulary(10, 10))
    assert (settled.shrinkage, settled.coupling, settled.polish) == (0, 0, False)
    settled = resolve_auto(Settings(), vocabulary(10, 10))
    assert settled.shrinkage > 0
    assert settled.coupling < 0
    assert settled.polish


def test_resolved_settings_stay_as_they_are() -> None:
    once = resolve_auto(Settings(), vocabulary(700, 20))
    assert resolve_auto(once, vocabulary(7, 1)) == once


def test_a_thousand_words_of_text_work() -> None:
    model = qwem.fit(topic_documents(100))
    assert model.corpus["words_counted"] == 1000
    assert model.polished is not None
    assert model.chosen == (
        "86 words, all that occur in this short text; dimension 8, window 12, for a text of 1,000 "
        "words; polished."
    )


def test_the_line_counts_the_words_of_the_text_itself() -> None:
    """Subsampling thins out what is counted, not the text that the dimension was chosen for."""
    model = qwem.fit(topic_documents(500), subsample=0.01)
    assert model.vocabulary.counts.sum() < 5_000
    assert "for a text of 5,000 words" in model.chosen


def test_ten_words_of_text_are_too_few() -> None:
    message = "The text has 10 words, 7 of them different, which is too little to learn from"
    with pytest.raises(CorpusError, match=message):
        qwem.fit(topic_documents(1, seed=3))
    assert qwem.fit(topic_documents(1, seed=3), dim=1, polish=False).spectrum.dim == 1


def test_the_line_says_what_was_chosen(tmp_path: Path) -> None:
    documents = topic_documents(300)
    corpus = Corpus.from_documents(documents)
    for source, changes, expected in [
        (documents, {"vocab_size": 60, "dim": 3, "window": 5}, "60 words; dimension 3; polished."),
        (corpus, {"dim": 3, "polish": False}, "86 words, all that occur in this short text;"),
        (Cooccurrence.count(corpus), {"dim": 3}, "86 words; dimension 3; polished."),
        (documents, {"min_count": 3, "dim": 3}, "86 words that occur at least 3 times; dimension"),
    ]:
        changes_: Any = changes
        model = qwem.fit(source, **changes_)
        assert model.chosen.startswith(expected)
        model.save(tmp_path / "model")
        assert qwem.Model.load(tmp_path / "model").chosen == model.chosen


def test_the_vocabulary_is_cut_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = topic_documents(300)
    whole = qwem.fit(documents, dim=3, keep_counts=True)
    assert len(whole.vocabulary) == 86
    assert whole.update_state is not None
    met = whole.update_state.counts.symmetric.toarray() > 0
    needed = [32 * met[:n, :n].sum() + 64 * 3 * n for n in range(87)]
    monkeypatch.setattr(fitting, "available_memory", lambda: 100_000)
    cut = qwem.fit(documents, dim=3)
    words = len(cut.vocabulary)
    assert needed[words] <= 100_000 < needed[words + 1]
    assert cut.vocabulary == whole.vocabulary.restrict(words)
    assert cut.settings["vocab_size"] == words
    assert cut.chosen.startswith(
        f"{words} words, the most frequent of 86: memory does not hold more"
    )
    small = qwem.fit(documents, dim=3, vocab_size=words)
    assert small.wv.vectors.tobytes() == cut.wv.vectors.tobytes()
    # A number of words that was asked for is not changed.
    assert len(qwem.fit(documents, dim=3, vocab_size=80).vocabulary) == 80


def test_counts_are_fitted_as_their_text_is() -> None:
    """Words that subsampling dropped belong to the length of the text all the same."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(800)])
    chances = 1 / np.arange(1, 801)
    documents = [list(rng.choice(words, 50, p=chances / chances.sum())) for _ in range(800)]
    settings = Settings(min_count=1, subsample=1e-4, polish=False, tol=0.1)
    corpus = read(documents, settings)
    counts = count(corpus, settings)
    assert counts.word_counts.sum() < 0.5 * corpus.vocabulary.counts.sum()
    before = original_vocabulary(counts)
    assert before.counts.sum() == corpus.vocabulary.counts.sum()
    assert np.allclose(before.counts[:2], corpus.vocabulary.counts[:2], rtol=0.1)
    assert fit(counts, settings).spectrum.dim == fit(documents, settings).spectrum.dim
    halves = [count(corpus.documents(*run), settings) for run in ((0, 400), (400, 800))]
    assert original_vocabulary(Cooccurrence.merge(halves)) == before
    assert original_vocabulary(counts - halves[0]) == original_vocabulary(halves[1])
