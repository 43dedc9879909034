"""What a document of plain text is: a line, a paragraph where lines are wrapped, or a file."""

from __future__ import annotations

import random
import textwrap
from typing import TYPE_CHECKING

import pytest

import qwem
from qwem import Corpus
from qwem.corpus import _text
from qwem.corpus._files import is_wrapped
from qwem.corpus._shards import encode_shard, split_files
from qwem.corpus._text import read_texts
from qwem.corpus.reading import Reading
from small_wiki import small_wiki

if TYPE_CHECKING:
    from pathlib import Path

ARTICLES = [" ".join(text.split()) for text in small_wiki()[:40]]
SENTENCES = [sentence for text in ARTICLES for sentence in text.split(". ")]
WORDS = [word for text in ARTICLES for word in text.split()]
SONNET = """Shall I compare thee to a summer's day
Thou art more lovely and more temperate
Rough winds do shake the darling buds of May
And summer's lease hath all too short a date
Sometime too hot the eye of heaven shines
And often is his gold complexion dimm'd
And every fair from fair sometime declines
By chance or nature's changing course untrimm'd
But thy eternal summer shall not fade
Nor lose possession of that fair thou ow'st
Nor shall death brag thou wander'st in his shade
When in eternal lines to time thou grow'st
"""


def lines_of(fewest: int, most: int, begin: str = "") -> str:
    """Lines of a random number of words."""
    random_number = random.Random(0)
    return "".join(
        begin + " ".join(random_number.choices(WORDS, k=random_number.randint(fewest, most))) + "\n"
        for _ in range(300)
    )


@pytest.mark.parametrize("width", [45, 60, 72, 80, 100])
@pytest.mark.parametrize("indent", ["", "    "])
def test_prose_that_is_wrapped_is_recognized(width: int, indent: str) -> None:
    gap = "\n" if indent else "\n\n"
    text = gap.join(textwrap.fill(each, width, initial_indent=indent) for each in ARTICLES) + "\n"
    assert is_wrapped(text)
    assert is_wrapped(text.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n".join(ARTICLES), id="a document per line"),
        pytest.param("\n".join(SENTENCES), id="a sentence per line"),
        pytest.param("\n".join(f"{each}." for each in SENTENCES), id="a whole sentence per line"),
        pytest.param("\n".join(text[:100] for text in ARTICLES), id="lines that were cut off"),
        pytest.param("\n".join(WORDS), id="a word per line"),
        pytest.param(SONNET, id="a sonnet"),
        pytest.param(lines_of(6, 9), id="verses"),
        pytest.param(lines_of(8, 8), id="blank verse"),
        pytest.param(lines_of(1, 15, "[12:07] anna: "), id="a chat"),
        pytest.param(lines_of(2, 10, "- "), id="a list"),
        pytest.param(textwrap.fill(ARTICLES[0][:300], 60), id="too short to tell"),
        pytest.param("", id="nothing"),
    ],
)
def test_other_lines_are_not_taken_for_wrapped_prose(text: str) -> None:
    assert not is_wrapped(text)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    paragraphs = [textwrap.fill(text, 60) for text in ARTICLES]
    file = tmp_path / "book.txt"
    file.write_text("\n\n" + "\n \n\n".join(paragraphs) + "\n\n")
    return file


@pytest.mark.parametrize("size", [1 << 22, 1000, 101])
def test_wrapped_text_is_read_by_paragraph(
    book: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(_text, "BATCH_BYTES", size)
    corpus = Corpus.from_files(book, min_count=1)
    assert corpus.settings["documents"] == "paragraph"
    assert corpus.fingerprint == Corpus.from_documents(ARTICLES, min_count=1).fingerprint
    assert [" ".join(text.split()) for text in read_texts(book, Reading())] == ARTICLES
    whole = Corpus.from_files(book, min_count=1, tokenizer=str.split)  # documents are not cut
    assert len(whole) == len(ARTICLES)


@pytest.mark.parametrize("size", [1 << 22, 101])
def test_a_file_may_be_one_paragraph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(_text, "BATCH_BYTES", size)
    file = tmp_path / "article.txt"
    file.write_text(textwrap.fill(" ".join(ARTICLES), 60))
    corpus = Corpus.from_files(file, min_count=1)
    assert corpus.settings["documents"] == "paragraph"
    assert len(corpus) == 1


def test_it_is_said_once_that_text_is_read_by_paragraph(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(_text, "announce", said.append)
    Corpus.from_files([book, book])
    assert len(said) == 1
    assert "each of its paragraphs is a document; documents='line'" in said[0]
    Corpus.from_files(book, documents="paragraph")
    assert len(said) == 1


def test_documents_are_what_was_asked_for(book: Path) -> None:
    lines = Corpus.from_files(book, documents="line")
    assert lines.settings["documents"] == "line"
    assert len(lines) == book.read_text().count("\n")
    assert len(Corpus.from_files(book, documents="file")) == 1


def test_each_file_is_read_by_what_it_is(book: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(SENTENCES) + "\n")
    corpus = Corpus.from_files(tmp_path)
    assert len(corpus) == len(ARTICLES) + len(SENTENCES)
    assert corpus.settings["documents"] == "auto"


def test_wrapped_text_is_one_shard_and_other_text_is_split(book: Path, tmp_path: Path) -> None:
    assert len(split_files(book, Reading(), 100)) == 1
    (tmp_path / "lines.txt").write_text("\n".join(SENTENCES) + "\n")
    shards = split_files(tmp_path / "lines.txt", Reading(), 30_000)
    read = [
        encode_shard(shard, Reading(), tmp_path / f"shard-{number}")
        for number, shard in enumerate(shards)
    ]
    assert len(shards) > 1
    assert sum(map(len, read)) == len(SENTENCES)


def test_an_update_reads_documents_as_the_fit_did(book: Path) -> None:
    model = qwem.fit(book, dim=2, polish=False, keep_counts=True, documents="file")
    assert model.settings["documents"] == "file"
    smaller = model.update(ARTICLES[:20], remove=book)  # the whole file is one document
    assert smaller.vocabulary.counts.sum() < model.vocabulary.counts.sum()
