"""A model records what made it: what its stages know, and nothing that only a default says."""

from __future__ import annotations

from typing import Any

import pytest

import qwem
from model.topics import topic_documents
from qwem import Cooccurrence, Corpus
from qwem.errors import SettingError

DOCUMENTS = topic_documents(400)
READING = {"tokenizer", "vocab_size", "min_count", "min_tokens", "documents", "oov", "errors"}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_documents(DOCUMENTS, min_tokens=3, min_count=2, tokenizer="ascii")


def test_a_fit_from_text_records_what_was_read() -> None:
    settings = qwem.fit(DOCUMENTS, dim=2, vocab_size=50, window=7).settings
    assert settings["tokenizer"] == "words"
    assert settings["vocab_size"] == 50
    assert settings["window"] == 7
    assert "documents" not in settings  # no file, no line
    assert "text" not in settings


def test_a_corpus_speaks_for_itself(corpus: Corpus) -> None:
    settings = qwem.fit(corpus, dim=2).settings
    assert settings["tokenizer"] == "ascii"
    assert settings["min_tokens"] == 3
    assert settings["min_count"] == 2
    assert settings["vocab_size"] == len(corpus.vocabulary)


def test_counts_speak_for_themselves(corpus: Corpus) -> None:
    counts = Cooccurrence.count(corpus, window=5, weights="flat", subsample=0.01, draws=2)
    settings = qwem.fit(counts, dim=2).settings
    assert not READING & set(settings)
    assert settings["window"] == 5
    assert settings["weights"] == "flat"
    assert settings["subsample"] == 0.01
    assert settings["draws"] == 2
    parts = counts + Cooccurrence.count(corpus, window=5, weights="flat")
    assert "subsample" not in qwem.fit(parts, dim=2).settings  # of one part only
    assert qwem.fit(Cooccurrence.count(corpus, 3, [5, 2, 1]), dim=2).settings["weights"] == [
        5,
        2,
        1,
    ]


def test_a_matrix_says_nothing_of_windows(corpus: Corpus) -> None:
    counts = Cooccurrence.count(corpus)
    matrix = Cooccurrence.from_matrix(corpus.vocabulary.words, counts.symmetric.toarray())
    settings = qwem.fit(matrix, dim=2).settings
    assert not {*READING, "window", "weights", "subsample", "draws"} & set(settings)
    assert settings["dim"] == 2


def test_a_corpus_of_arrays_says_nothing_of_reading(corpus: Corpus) -> None:
    bare = Corpus(corpus.tokens, corpus.offsets, corpus.vocabulary)
    assert not READING & set(qwem.fit(bare, dim=2).settings)


@pytest.mark.parametrize(
    ("stage", "changes", "message"),
    [
        ("corpus", {"min_count": 2}, "`min_count` was fixed when the corpus was made"),
        ("corpus", {"documents": "file"}, "leave it out, or start from the text"),
        ("counts", {"window": 16}, "`window` was fixed when the counts were made"),
        ("counts", {"vocab_size": 5}, "start from the text or its corpus"),
    ],
)
def test_settings_of_finished_stages_are_refused(
    corpus: Corpus, stage: str, changes: dict[str, Any], message: str
) -> None:
    source = corpus if stage == "corpus" else Cooccurrence.count(corpus)
    with pytest.raises(SettingError, match=message):
        qwem.fit(source, dim=2, **changes)


def test_of_a_preset_the_rest_is_used(corpus: Corpus) -> None:
    settings = qwem.fit(Cooccurrence.count(corpus, window=3), preset="paper", dim=2).settings
    assert settings["window"] == 3
    assert settings["signed"] is False
