"""Pieces of text: encoded with all their words, and recoded together once these are chosen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem import Corpus
from qwem._internal.word_lists import packed_words, sorted_list, unpacked_words
from qwem.corpus import EncodedPiece, Reading, cut_files, encode_piece, recode
from qwem.corpus.interner import Interner, packed
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["a", "b", "é", "漢", "longer than fifteen bytes", "a\0b", "eight by", ""]
TEXT = ["the king and the queen", "a very-internationalistically long word", "the Ärzte", "x"]


@settings(deadline=None)
@given(
    known=st.lists(st.text(max_size=20), unique=True, max_size=30),
    asked=st.lists(st.text(max_size=20) | st.sampled_from(WORDS), max_size=30),
)
def test_words_are_looked_up_as_in_a_dictionary(known: list[str], asked: list[str]) -> None:
    known = [*known, *(word for word in WORDS[::2] if word not in known)]
    interner = Interner()
    interner.intern(*packed(known), amount=0)
    place = {word: number for number, word in enumerate(known)}
    found = interner.look_up(*packed(asked), unknown=999)
    assert found.tolist() == [place.get(word, 999) for word in asked]
    assert len(interner) == len(known)
    assert interner.words(np.arange(len(known))) == known


@given(words=st.lists(st.text(max_size=3), max_size=9), cut=st.integers(0, 9))
def test_packed_words_are_those_of_an_arrow_array(words: list[str], cut: int) -> None:
    array = pa.array(words, pa.large_string())
    for part in (array, array[cut:], pa.chunked_array([array[:cut], array[cut:]])):
        text, ends = packed_words(part)
        assert unpacked_words(text, ends).to_pylist() == part.to_pylist()
    counts = np.arange(len(words)) % 2
    table, places = sorted_list(array, counts)
    assert table["word"].to_pylist() == sorted(words[1::2])
    assert [words[place] for place in places] == table["word"].to_pylist()
    assert table["count"].to_pylist() == counts[places].tolist()


def encoded(folder: Path, lines: list[str], **options: Any) -> EncodedPiece:
    file = folder / "text.txt"
    file.write_text("\n".join(lines))
    return encode_piece(
        cut_files(file, "line", 1 << 20)[0], "line", Reading(**options), folder / "p"
    )


@pytest.mark.parametrize("oov", ["drop", "mask"])
def test_pieces_recoded_together_are_the_whole_text(
    oov: Literal["drop", "mask"], tmp_path: Path
) -> None:
    pieces = []
    for number, lines in enumerate((TEXT, TEXT[::-1], TEXT[:1])):
        (tmp_path / str(number)).mkdir()
        pieces.append(encoded(tmp_path / str(number), lines, min_tokens=2, vocab_size=1))
    documents = [*TEXT, *TEXT[::-1], *TEXT[:1]]
    whole = Corpus.from_documents(documents, min_tokens=2, vocab_size=6, oov=oov)
    recoded = recode(pieces, whole.vocabulary, oov)
    assert recoded.fingerprint == whole.fingerprint
    assert recoded.settings["words_kept"] == whole.settings["words_kept"]
    assert recode(pieces, whole.vocabulary, oov, 7).first_document == 7


def test_a_piece_has_all_its_words_sorted(tmp_path: Path) -> None:
    made = encoded(tmp_path, TEXT, min_tokens=2, vocab_size=1)
    counts = Counter(word for line in TEXT[:3] for word in line.lower().replace("-", " ").split())
    for piece in (made, EncodedPiece.load(tmp_path / "p")):
        assert len(piece) == 3
        assert piece.words["word"].to_pylist() == sorted(counts)
        assert piece.words["count"].to_pylist() == [counts[word] for word in sorted(counts)]
        assert piece.settings["words_read"] == 13
        assert piece.size == sum(counts.values())
        stream = piece.stream()
        assert stream.offsets.size == 4
        first = stream.tokens[: stream.offsets[1]]
        assert [stream.words[token] for token in first] == TEXT[0].split()
        met = [word for word in stream.words if word]
        assert met == list(counts), "words are numbered as they are met"
        assert [stream.counts[stream.words.index(word)] for word in met] == list(counts.values())


@pytest.mark.parametrize("lines", [TEXT, ["", ""], []], ids=["short", "no words", "nothing"])
def test_a_piece_without_long_documents(lines: list[str], tmp_path: Path) -> None:
    made = encoded(tmp_path, [*lines, "-"], min_tokens=100)
    for piece in (made, EncodedPiece.load(tmp_path / "p")):
        assert len(piece) == piece.size == piece.words.num_rows == 0
        assert piece.settings["documents_read"] == len(lines) + 1
        assert piece.stream().tokens.size == 0


def test_a_damaged_piece_is_refused(tmp_path: Path) -> None:
    encoded(tmp_path, TEXT)
    for file in sorted((tmp_path / "p").iterdir()):
        good = file.read_bytes()
        file.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        with pytest.raises(ArtefactError, match=file.name):
            EncodedPiece.load(tmp_path / "p")
        file.write_bytes(good)
    assert len(EncodedPiece.load(tmp_path / "p")) == 4
