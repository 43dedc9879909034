"""Vocabulary, filtering and encoding follow the rules, and threads and batches leave no trace."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from in_threads import in_threads
from qwem import Corpus, Vocabulary
from qwem.corpus import _encoding, _text, _token_stream
from qwem.errors import CorpusError, DiskLimitError, SettingError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.sampled_from(["a", "b", "c", "d", "é", "ß", "漢", "a-very-long-word-of-many-bytes"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=12)


def encode(
    documents: list[list[str]], vocab_size: int | None, min_count: int, min_tokens: int, mask: bool
) -> tuple[list[str], list[int], list[list[int]]]:
    """Do slowly, and obviously rightly, what the encoder does; return words, counts and ids."""
    kept = [document for document in documents if len(document) >= min_tokens]
    counts = Counter(word for document in kept for word in document)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    words = [word for word in words if counts[word] >= min_count][:vocab_size]
    number = {word: i for i, word in enumerate(words)}
    if mask:
        ids = [[number.get(word, len(words)) for word in document] for document in kept]
    else:
        ids = [[number[word] for word in document if word in number] for document in kept]
    return words, [counts[word] for word in words], ids


def split(corpus: Corpus) -> list[list[int]]:
    return [ids.tolist() for ids in np.split(corpus.tokens, corpus.offsets[1:-1])]


@settings(deadline=None)
@given(
    documents=DOCUMENTS,
    vocab_size=st.none() | st.integers(1, 8),
    min_count=st.integers(1, 3),
    min_tokens=st.integers(0, 5),
    mask=st.booleans(),
    threads=st.integers(1, 3),
    size=st.integers(1, 40),
)
def test_encoding_equals_the_slow_way(
    documents: list[list[str]],
    vocab_size: int | None,
    min_count: int,
    min_tokens: int,
    mask: bool,
    threads: int,
    size: int,
) -> None:
    words, counts, ids = encode(documents, vocab_size, min_count, min_tokens, mask)

    def build() -> Corpus:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_text, "BATCH_BYTES", size)
            return in_threads(
                threads,
                lambda: Corpus.from_documents(
                    documents,
                    vocab_size=vocab_size,
                    min_count=min_count,
                    min_tokens=min_tokens,
                    oov="mask" if mask else "drop",
                ),
            )

    if not words or len(words) < (vocab_size or 0):
        with pytest.raises((CorpusError, SettingError)):
            build()
    else:
        corpus = build()
        assert list(corpus.vocabulary.words) == words
        assert corpus.vocabulary.counts.tolist() == counts
        assert split(corpus) == ids
        assert corpus.mask_id == (len(words) if mask else None)
        assert corpus.settings["words_kept"] == sum(counts)
        assert corpus.settings["documents_read"] == len(documents)
        assert corpus.settings["documents_kept"] == len(ids)


def files_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


@settings(deadline=None, max_examples=30)
@given(
    lines=st.lists(st.text("ab é漢\t", max_size=12), min_size=1, max_size=20),
    documents=st.sampled_from(["line", "file"]),
    size=st.integers(1, 30),
    threads=st.integers(1, 4),
)
def test_threads_and_batches_leave_no_trace_on_disk(
    lines: list[str],
    documents: Literal["line", "file"],
    size: int,
    threads: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("trace")
    (directory / "text.txt").write_text("\n".join(["x", *lines]), encoding="utf-8")
    arguments: dict[str, Any] = {"vocab_size": None, "documents": documents}
    in_threads(
        1,
        lambda: Corpus.from_files(directory / "text.txt", **arguments, directory=directory / "a"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "BATCH_BYTES", size)
        in_threads(
            threads,
            lambda: Corpus.from_files(
                directory / "text.txt", **arguments, directory=directory / "b"
            ),
        )
    assert files_of(directory / "a") == files_of(directory / "b")


def test_a_disk_that_is_too_small_is_refused_while_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, lines = 1_000, 400
    text = tmp_path / "text.txt"
    text.write_text(("word " * words + "\n") * lines)
    monkeypatch.setattr(_text, "BATCH_BYTES", text.stat().st_size // 20)
    spools = 4 * words * lines  # and as much again for the corpus
    free = shutil.disk_usage(tmp_path)._replace(free=int(1.8 * spools))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(
        DiskLimitError, match=r"would need 0\.0 GB more disk space in .* are free; free"
    ):
        Corpus.from_files(text)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
    free = free._replace(free=int(2.2 * spools))
    assert Corpus.from_files(text).tokens.size == words * lines


def test_a_document_may_be_larger_than_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"word{'abcdefghij'[i % 10]}{'xyz'[i % 3]}" for i in range(5000)]
    (tmp_path / "text.txt").write_text(" ".join(words) + "\nshort line\n")
    expected = Corpus.from_documents([words, ["short", "line"]], min_tokens=5000)
    monkeypatch.setattr(_text, "BATCH_BYTES", 100)
    corpus = Corpus.from_files(tmp_path / "text.txt", vocab_size=None, min_tokens=5000)
    assert corpus.fingerprint == expected.fingerprint
    whole = Corpus.from_files(
        tmp_path / "text.txt", vocab_size=None, min_tokens=5000, tokenizer=r"\w+"
    )
    assert whole.fingerprint == expected.fingerprint


def test_more_words_than_the_table_holds_at_first() -> None:
    words = [f"{number:x}" for number in range(3 * _encoding.FIRST_WORDS)]
    text = " ".join(word.translate(str.maketrans("0123456789", "ghijklmnop")) for word in words)
    corpus = in_threads(1, lambda: Corpus.from_documents([text, text]))
    assert len(corpus.vocabulary) == len(words)
    assert corpus.tokens.dtype == np.uint32
    assert set(corpus.vocabulary.counts.tolist()) == {2}
    assert [corpus.vocabulary.words[i] for i in corpus.tokens[: len(words)]] == text.split()
    again = in_threads(1, lambda: Corpus.from_documents([text.split()] * 2))
    assert again.fingerprint == corpus.fingerprint


@pytest.mark.parametrize(
    ("words", "oov", "dtype"),
    [(65536, "drop", np.uint16), (65536, "mask", np.uint32), (65535, "mask", np.uint16)],
)
def test_ids_are_as_wide_as_needed(words: int, oov: Literal["drop", "mask"], dtype: type) -> None:
    corpus = Corpus.from_documents([[str(i) for i in range(words)]], oov=oov)
    assert corpus.tokens.dtype == dtype


def test_a_given_vocabulary_is_used_as_it_is() -> None:
    vocabulary = Vocabulary(("queen", "nobody", "the"), np.array([5, 4, 3]))
    corpus = Corpus.from_documents(["the king", "the the"], vocabulary=vocabulary)
    assert corpus.vocabulary.words == vocabulary.words
    assert corpus.vocabulary.counts.tolist() == [0, 0, 3]
    assert split(corpus) == [[2], [2, 2]]
    nothing = Corpus.from_documents(["king", "king"], vocabulary=vocabulary)
    assert split(nothing) == [[], []]


def test_text_is_encoded_as_by_a_plain_loop(text_file: Path) -> None:
    options: Any = {"tokenizer": "ascii", "min_tokens": 500, "vocab_size": 1_000}
    two = in_threads(2, lambda: Corpus.from_files(text_file, **options))
    one = in_threads(1, lambda: Corpus.from_files(text_file, **options))
    assert one.fingerprint == two.fingerprint

    texts = pq.read_table(text_file, columns=["text"]).column("text").to_pylist()
    documents = [re.findall("[a-z]+", re.sub("[^A-Za-z]", " ", text).lower()) for text in texts]
    words, counts, ids = encode(documents, 1_000, 1, 500, mask=False)
    assert list(one.vocabulary.words) == words
    assert one.vocabulary.counts.tolist() == counts
    assert split(one) == ids


@pytest.mark.parametrize("oov", ["drop", "mask"])
def test_restricting_equals_encoding_with_fewer_words(
    oov: Literal["drop", "mask"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_token_stream, "_CHUNK_TOKENS", 7)
    draw = np.random.default_rng(0)
    documents = [
        [str(word) for word in draw.geometric(0.1, size)] for size in draw.integers(0, 9, 40)
    ]
    whole = Corpus.from_documents(documents, oov=oov)
    for size in (1, 5, len(whole.vocabulary)):
        small = Corpus.from_documents(documents, oov=oov, vocab_size=size)
        restricted = whole.restrict(size)
        assert restricted.fingerprint == small.fingerprint
        assert split(restricted) == split(small)
        assert restricted.settings["words_kept"] == small.settings["words_kept"]


@pytest.mark.parametrize(("times", "words", "expected"), [(5, 1000, 5), (3, 1000, 3), (9, 999, 1)])
def test_min_count_adapts_to_the_text(times: int, words: int, expected: int) -> None:
    """A thousand words are wanted; where there are fewer, every word is kept."""
    often = [str(i) for i in range(words)]
    corpus = Corpus.from_documents([often] * times + [["seldom"]])
    assert corpus.settings["min_count"] == expected
    assert ("seldom" in corpus.vocabulary) == (expected == 1)


def test_with_a_given_vocabulary_nothing_is_needed() -> None:
    vocabulary = Vocabulary(("the",), np.array([3]))
    kinds: list[list[Any]] = [[], ["", "1"], [[], []]]
    for documents in kinds:
        corpus = Corpus.from_documents(documents, vocabulary=vocabulary)
        assert split(corpus) == [[] for _ in documents] or not documents
        assert len(corpus) == len(documents)
        assert corpus.vocabulary.counts.tolist() == [0]
        assert "min_count" not in corpus.settings
