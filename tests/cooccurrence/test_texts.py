"""What is counted: pieces of text, straight from their own ids, as if they were one corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus, Vocabulary
from qwem.cooccurrence import Subsampling, window_slots
from qwem.cooccurrence.counting import count_pairs
from qwem.corpus import Reading, RecodedPieces, cut_files, encode_piece

if TYPE_CHECKING:
    from qwem.corpus import EncodedPiece

SLOTS = window_slots(3, layout="near-far")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> list[EncodedPiece]:
    """Pieces with documents of many lengths, also empty ones and ones that are too short."""
    folder = tmp_path_factory.mktemp("pieces")
    rng = np.random.default_rng(1)
    words = np.array([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)])
    chances = 1 / np.arange(1, 61)
    made = []
    for number, documents in enumerate((40, 1, 25)):
        lines = [
            " ".join(rng.choice(words, size, p=chances / chances.sum()))
            for size in rng.integers(0, 30, documents)
        ]
        text = folder / f"{number}.txt"
        text.write_text("\n".join([*lines, " ".join(words[::-1])]))
        (piece,) = cut_files(text, "line", 1 << 20)
        made.append(encode_piece(piece, "line", Reading(min_tokens=5), folder / str(number)))
    assert not all(piece.kept.all() for piece in made)
    return made


@pytest.mark.parametrize("oov", ["drop", "mask"])
@pytest.mark.parametrize("subsampling", [None, Subsampling(0.02, 7, 2)], ids=["all", "some"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk_tokens", [1, 50, 1 << 20])
def test_pieces_are_counted_as_the_corpus_they_make(
    pieces: list[EncodedPiece],
    oov: str,
    subsampling: Subsampling | None,
    threads: int,
    chunk_tokens: int,
) -> None:
    kept = [f"w{letter}{other}" for letter in "ab" for other in "abcdefgh"]
    vocabulary = Vocabulary.from_counts({word: 99 - i for i, word in enumerate([*kept, "unseen"])})
    recoded = RecodedPieces(pieces, vocabulary, oov, first_document=11)
    corpus = recoded.corpus()
    expected = count_pairs(corpus, SLOTS, subsampling, 1)
    found = count_pairs(recoded, SLOTS, subsampling, threads, chunk_tokens)
    assert found.pairs == expected.pairs
    assert np.array_equal(found.words, expected.words)
    assert len(recoded) == len(corpus)
    occurring = np.bincount(corpus.tokens, minlength=len(vocabulary) + 1)[: len(vocabulary)]
    assert np.array_equal(recoded.word_counts(), occurring)


def test_a_fingerprint_tells_what_was_counted(pieces: list[EncodedPiece]) -> None:
    words = Vocabulary.from_counts({"waa": 3, "wab": 2})
    seen = {
        RecodedPieces(some, vocabulary, oov, first).fingerprint
        for some in (pieces, pieces[::-1], pieces[:1])
        for vocabulary in (words, words.restrict(1))
        for oov in ("drop", "mask")
        for first in (0, 1)
    }
    assert len(seen) == 24
    whole = RecodedPieces(pieces, words, "drop")
    counts = Cooccurrence.count(whole, window=2)
    assert counts.sources[0]["corpus"] == whole.fingerprint
    assert counts.sources[0]["documents"] == [0, len(whole)]


@pytest.mark.parametrize("size", [(1 << 16) - 1, 1 << 16, (1 << 16) + 1])
def test_gaps_between_documents_are_no_word_at_any_size(size: int) -> None:
    """A gap has the number after the last word's, which may need one more bit than words do."""
    dtype = np.uint16 if size <= 1 << 16 else np.uint32
    words = tuple(map(str, range(size)))
    tokens: Any = np.arange(size, dtype=dtype)
    corpus = Corpus(tokens, np.array([0, 3, size]), Vocabulary(words, np.ones(size, np.int64)))
    sums = Cooccurrence.count(corpus, window=2).symmetric.row_sums
    assert sums[:5].tolist() == [3, 4, 3, 3, 5]
    assert sums[-2:].tolist() == [5, 3]
