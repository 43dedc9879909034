"""Memory of mapped files: given back, and read again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from in_threads import in_threads
from qwem import Corpus
from qwem._internal.inputs import release
from qwem.cooccurrence import Slot
from qwem.cooccurrence import _counting as counting
from qwem.corpus import Phrases, Vocabulary
from qwem.corpus import _token_stream as token_stream

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says what is in memory")
TOKENS, CHUNK = 1 << 22, 1 << 18


def resident(file: Path) -> int:
    """Return how many bytes of a mapped file are in this process's memory."""
    total, here = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):
            here = bool(rest) and rest[-1] == str(file)
        elif here and name == "Rss:":
            total += 1024 * int(rest[0])
    return total


def mapped(file: Path) -> np.memmap:
    np.random.default_rng(2).integers(0, 50, TOKENS, dtype=np.uint16).tofile(file)
    return np.memmap(file, np.uint16, "r")


def mapped_corpus(file: Path) -> Corpus:
    """A corpus of a thousand documents, none of whose tokens are in memory."""
    tokens = mapped(file)
    words = Vocabulary(tuple(f"w{number}" for number in range(50)), np.arange(50)[::-1])
    corpus = Corpus(tokens, np.linspace(0, TOKENS, 1001).astype(np.int64), words)
    release(tokens)
    return corpus


def test_a_part_is_given_back_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = mapped(file)
    total = int(tokens.sum())
    assert resident(file) == tokens.nbytes
    release(tokens[TOKENS // 4 :][: TOKENS // 2])
    assert resident(file) <= tokens.nbytes // 2
    assert int(tokens.sum()) == total
    release(tokens)
    assert resident(file) == 0


def test_what_may_have_been_changed_is_kept(tmp_path: Path) -> None:
    np.zeros(100_000, np.uint16).tofile(tmp_path / "tokens")
    for array in (np.memmap(tmp_path / "tokens", np.uint16, "c"), np.zeros(100_000, np.uint16)):
        array[:] = 7
        release(array)
        assert (array == 7).all()


def test_a_corpus_is_counted_recoded_and_saved_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    corpus = mapped_corpus(file)
    most = 0
    count_head = counting._Counter._count_head

    def look(*arguments: Any) -> Any:
        nonlocal most
        most = max(most, resident(file))
        return count_head(*arguments)

    monkeypatch.setattr(counting._Counter, "_count_head", look)
    counts = counting.count_pairs(corpus, [Slot((2, 1))], None, CHUNK)
    assert counts.words.sum() == TOKENS
    assert most <= 2 * CHUNK
    corpus.recode(corpus.vocabulary.restrict(20))
    corpus.save(tmp_path / "corpus")
    assert Corpus.load(tmp_path / "corpus").fingerprint == corpus.fingerprint
    assert resident(file) <= 2 * CHUNK


def test_phrases_are_found_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    corpus = mapped_corpus(file)
    taken: list[int] = []

    def look(array: Any) -> None:
        taken.append(resident(file))
        release(array)

    monkeypatch.setattr(token_stream, "_CHUNK_TOKENS", CHUNK)
    monkeypatch.setattr(token_stream, "release", look)
    phrases = in_threads(1, lambda: Phrases.learn(corpus, passes=2, threshold=0.0))
    assert len(phrases)
    in_threads(1, lambda: phrases.join(corpus))
    assert len(taken) > 4 * TOKENS // CHUNK
    # A chunk, and what the system maps around it, 2 MB.
    assert max(taken) <= corpus.tokens.nbytes // 2
