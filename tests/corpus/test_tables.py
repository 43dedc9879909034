"""Tables of CSV and TSV are read by the names of their columns, never as plain text."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem import Corpus
from qwem.corpus import _text, read_columns
from qwem.errors import CorpusError

if TYPE_CHECKING:
    from pathlib import Path

TABLE = (
    "id,body,year,party,share\n"
    '007,"The king,\nthe ""queen""",1990,D,.5\n'
    "010,,NA,R,\n"
    "011,the cat,2001,NA,1e-2\n"
)


def words_of(corpus: Corpus) -> list[list[str]]:
    words = corpus.vocabulary.words
    return [
        [words[token] for token in corpus.tokens[first:last]]
        for first, last in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)
    ]


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("", lambda data: data),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.compress),
    ],
)
def test_the_named_column_is_the_text(tmp_path: Path, ending: str, compress: Any) -> None:
    expected = [["the", "king", "the", "queen"], [], ["the", "cat"]]
    for name, delimiter in (("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t"), ("d.csv", "\t")):
        file = tmp_path / (name + ending)
        rows = list(csv.reader(io.StringIO(TABLE, newline="")))
        table = io.StringIO(newline="")
        csv.writer(table, delimiter=delimiter).writerows(rows)
        file.write_bytes(compress(table.getvalue().encode()))
        corpus = Corpus.from_files(file, text="body", min_count=1)
        assert words_of(corpus) == expected
        assert corpus.settings["text"] == "body"


def test_columns_have_one_value_for_each_document(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text(TABLE.replace("1990", "about 1990"))
    assert read_columns(tmp_path / "a.csv", ["year", "party", "share", "id"]) == {
        "year": [1990, None, 2001],
        "party": ["D", "R", "NA"],
        "share": [0.5, None, 0.01],
        "id": ["007", "010", "011"],
    }
    assert read_columns(tmp_path, ["year"])["year"] == [
        *("1990", "NA", "2001"),
        *("about 1990", "NA", "2001"),
    ]


def test_a_table_without_the_column_is_refused_with_the_names_of_those_it_has(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(TABLE)
    message = r"a.csv has no column 'text'; it has 'id', 'body', 'year', 'party', 'share': name "
    with pytest.raises(CorpusError, match=message):
        Corpus.from_files(file)
    with pytest.raises(CorpusError, match=r"no column 'age'; it has .*: name one of these\.$"):
        read_columns(file, ["age"])
    with pytest.raises(CorpusError, match=r"no column 'prty'; it has .*: did you mean 'party'\?$"):
        read_columns(file, ["prty"])
    file.write_text(
        "The king and the queen have a cat and a dog and a house, and a horse\nThe cat\n"
    )
    with pytest.raises(
        CorpusError, match=r"it has 'The king and the queen have a cat and a dog \[...\]', "
    ):
        Corpus.from_files(file)


def test_tables_that_are_empty_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    for text in ("", "text,year\n"):
        file.write_text(text)
        with pytest.raises(CorpusError, match=r"a.csv is empty"):
            Corpus.from_files(file)
    file.write_text("text,year\nthe king,1990,and more\n")
    with pytest.raises(
        CorpusError, match=r"header has 2 columns, but this row has 3 cells: 'the king"
    ):
        Corpus.from_files(file)
    file.write_bytes(b"text,year\nthe king,1\nthe caf\xe9,2\n")
    with pytest.raises(CorpusError, match=r"Row 1 of 'text' of .*a.csv is not valid UTF-8"):
        Corpus.from_files(file)
    assert "café" in Corpus.from_files(file, encoding="latin-1").vocabulary
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(TABLE.encode() * 1000)[:-20])
    with pytest.raises(CorpusError, match=r"b.csv.gz is damaged or cut short"):
        Corpus.from_files(tmp_path / "b.csv.gz", text="body")
    monkeypatch.setattr(_text, "BATCH_BYTES", 100)
    file.write_text('text,year\n"' + 1000 * "the king " + '",1\n' + 100 * "a,1\n")
    with pytest.raises(CorpusError, match=r"a row of more than .* or a quotation mark"):
        Corpus.from_files(file)


def test_a_cell_that_says_that_it_is_missing_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text,year\nthe king,1\nNA,2\nNaN,3\n,4\nnull and NA,5\n")
    read = words_of(Corpus.from_files(file, min_count=1))
    assert read == [["the", "king"], [], [], [], ["null", "and", "na"]]


def test_bars_separate_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id|body\n1|the king, the queen; a cat\n")
    corpus = Corpus.from_files(tmp_path / "a.csv", text="body", min_count=1)
    assert set(corpus.vocabulary) == {"the", "king", "queen", "a", "cat"}


def test_quotation_marks_that_are_not_closed_are_mentioned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "a.tsv"
    file.write_text('id\ttext\n1\t"the\nking ""too"""\n2\tthe "queen"\n')
    assert len(Corpus.from_files(file, min_count=1)) == 2
    assert not caplog.text
    file.write_text('id\ttext\n1\t"the king\n2\tthe queen\n3\t"the cat\n')
    Corpus.from_files(file, min_count=1)
    assert "as if a quotation mark were never closed" in caplog.text


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text("ab é,;\"'\n", max_size=30), min_size=1, max_size=20))
def test_a_table_has_the_documents_that_were_written(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    file = tmp_path_factory.mktemp("table") / "a.csv"
    with file.open("w", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows([["n", "text"], *enumerate(["one more", *texts])])
    read = Corpus.from_files(file, min_count=1)
    assert words_of(read) == words_of(Corpus.from_documents(["one more", *texts], min_count=1))
