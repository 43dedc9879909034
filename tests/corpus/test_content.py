"""Files are text by what is in them: other things are refused, and encodings are decoded."""

from __future__ import annotations

import codecs
import io
import sqlite3
import sys
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qwem import Corpus
from qwem.corpus import _text, read_columns
from qwem.corpus._shards import encode_shard, split_files
from qwem.corpus.reading import Reading
from qwem.errors import CorpusError, SettingError

TEXT = "The café of the king.\nÀ la reine, 王 and the café.\n" * 40


def some_zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", "<w:t>the king</w:t>")
    return data.getvalue()


def some_tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty.txt"))
    return data.getvalue()


def some_parquet() -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.table({"text": ["a"]}), data)
    return data.getvalue()


@pytest.mark.parametrize("name", ["a.txt", "a", "a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (some_zip(), "is a ZIP archive, as .docx.* save the document as plain text"),
        (some_tar(), "is a tar archive.* unpack it"),
        (some_parquet(), "is Parquet, not text; end its name in .parquet"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF, not text; extract its text first"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is an image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is an image"),
        (Path(sys.executable).read_bytes()[:5000], "is an executable program"),
        (b"\x1f\x8b\x08\0", "is compressed by gzip.* end its name in .gz"),
        (b"<!DOCTYPE html>\n<p>the king", "is HTML or XML.* strip them first"),
        ("\ufeff\n <HTML lang=en>".encode(), "is HTML or XML.* strip them first"),
        (b"<!-- saved --> <!-- again -->\n<html>", "is HTML or XML.* strip them first"),
        (b"the king\0and the queen", "has NUL bytes in it"),
        ("the king".encode("utf-16-le"), "looks like UTF-16; pass `encoding='utf-16-le'`"),
        ("the king".encode("utf-16-be"), "looks like UTF-16; pass `encoding='utf-16-be'`"),
    ],
)
def test_what_is_not_text_is_refused_with_what_to_do(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        Corpus.from_files(tmp_path / name, errors="replace")


def test_a_database_under_another_name_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.txt")) as database:
        database.execute("create table speeches (text)")
    with pytest.raises(CorpusError, match="is an SQLite database, not text; end its name in"):
        Corpus.from_files(tmp_path / "a.txt")


@pytest.mark.parametrize("documents", ["line", "file"])
def test_byte_order_marks_are_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: str
) -> None:
    monkeypatch.setattr(_text, "BATCH_BYTES", 101)
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    expected = Corpus.from_files(tmp_path / "a.txt", documents=documents)
    assert {"café", "王", "à"} <= set(expected.vocabulary.words)
    for encoding in ("utf-8-sig", "utf-16", "utf-32", "utf-16-be"):
        mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
        (tmp_path / "a.txt").write_bytes(mark + TEXT.encode(encoding))
        read = Corpus.from_files(tmp_path / "a.txt", documents=documents)
        assert read.fingerprint == expected.fingerprint


def test_an_encoding_is_that_of_text_json_and_tables(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("die Königin grüßt\n", encoding="cp1252")
    (tmp_path / "a.jsonl").write_text('{"text": "grüßt", "Größe": "groß"}\n', encoding="cp1252")
    (tmp_path / "a.csv").write_text("text,Größe\ngrüßt,groß\n", encoding="cp1252")
    with pytest.raises(CorpusError, match=r"not valid UTF-8.* pass the `encoding`.* `errors="):
        Corpus.from_files(tmp_path / "a.txt")
    corpus = Corpus.from_files(tmp_path, encoding="windows-1252")
    assert corpus.vocabulary.words[0] == "grüßt"
    assert corpus.vocabulary.counts[0] == 3
    assert corpus.settings["encoding"] == "windows-1252"
    tables = [tmp_path / "a.jsonl", tmp_path / "a.csv"]
    assert read_columns(tables, ["Größe"], encoding="cp1252") == {"Größe": ["groß", "groß"]}


def test_encodings_that_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"the king \xff\n")
    for encoding in ("utf-9", "hex", "a\0b"):
        with pytest.raises(SettingError, match="`encoding` must be the name of an encoding"):
            Corpus.from_files(tmp_path / "a.txt", encoding=encoding)
    with pytest.raises(CorpusError, match=r"is not valid ascii: .* give the `encoding`"):
        Corpus.from_files(tmp_path / "a.txt", encoding="ascii")
    read = Corpus.from_files(tmp_path / "a.txt", encoding="ascii", errors="replace")
    assert read.vocabulary.words == ("king", "the")


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_shards_are_cut_between_lines_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    text = TEXT.replace("王", "Ċ" if encoding == "utf-16" else "ö")  # U+010A has the byte of \n
    (tmp_path / "a.txt").write_text(text, encoding=encoding)
    reading = Reading(encoding=encoding)
    whole = Corpus.from_files(tmp_path / "a.txt", encoding=encoding, min_count=1)
    shards = split_files(tmp_path / "a.txt", reading, 500)
    assert len(shards) > 1 or encoding == "utf-16"
    read = [
        encode_shard(shard, reading, tmp_path / f"shard-{number}")
        for number, shard in enumerate(shards)
    ]
    assert sum(map(len, read)) == len(whole)
    assert sum(int(each.vocabulary.counts.sum()) for each in read) == whole.tokens.size


def test_a_part_of_a_page_is_refused_by_its_name_and_mentioned_otherwise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    page = "<p class='verse'>the king<br /></p>\n" * 10
    (tmp_path / "a.html").write_text(page)
    with pytest.raises(CorpusError, match="is HTML or XML"):
        Corpus.from_files(tmp_path / "a.html")
    (tmp_path / "a.txt").write_text(page)
    Corpus.from_files(tmp_path / "a.txt")
    assert "has HTML tags in it, such as <p>, whose names" in caplog.text
    caplog.clear()
    Corpus.from_documents(["5 < 7 and <s> the king </s>, a > b, <pad>"] * 50)
    Corpus.from_documents([f"{page} is split by this function"], tokenizer=str.split)
    assert not caplog.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id\tbody\n" + "1\tthe king\n" * 9, True),
        ("id,body,year\n" + '1,"the king, too",1990\n' * 9, True),
        ('{"body": "the king"}\n' * 9, True),
        ("id\tbody\n1\tthe king\n", False),
        ("The king, too.\n" * 9, False),
        ("The king, the queen, a cat.\nThe king\n" * 9, False),
        (TEXT, False),
    ],
)
def test_a_table_under_the_name_of_text_is_mentioned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, said: bool
) -> None:
    (tmp_path / "a.txt").write_text(text)
    Corpus.from_files(tmp_path / "a.txt", min_count=1)
    assert ("a.txt looks like a table" in caplog.text) == said
