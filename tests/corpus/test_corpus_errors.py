"""Bad input is refused in one sentence that says what, where, and what to do."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from qwem import Corpus, Vocabulary
from qwem.corpus import _text
from qwem.errors import CorpusError, MemoryLimitError, QwemError, SettingError


def expect_refusal(message: str, kind: type[QwemError] = CorpusError) -> Any:
    return pytest.raises(kind, match=message)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with expect_refusal("There is no file or directory .*nowhere.txt"):
        Corpus.from_files(tmp_path / "nowhere.txt")
    with expect_refusal("No file matches the pattern .*none"):
        Corpus.from_files(str(tmp_path / "none*.txt"))
    with expect_refusal("The directory .* has no files in it"):
        Corpus.from_files(tmp_path)
    with expect_refusal("the list of paths is empty"):
        Corpus.from_files([])
    with expect_refusal("There is no file or directory the king; give text as a list of documents"):
        Corpus.from_files("the king")
    for text in (100 * "the king ", 200 * "é", "a/" + 256 * "b", 5000 * "a/"):
        with expect_refusal(
            r"A string of [\d,]+ characters can't be the name of a file; give text"
        ):
            Corpus.from_files(text)


@pytest.mark.parametrize("documents", ["line", "file"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a.parquet"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str, documents: Any) -> None:
    file = tmp_path / name
    if name.endswith(".gz"):
        file.write_bytes(gzip.compress(b""))
    elif name.endswith(".parquet"):
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), file)
    else:
        file.touch()
    with expect_refusal(f"{name} is empty"):
        Corpus.from_files(file, documents=documents)


def test_text_that_leaves_no_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b c\nd e\n")
    with expect_refusal("of 2 documents the longest has 3 words, and `min_tokens` is 4"):
        Corpus.from_files(tmp_path / "a.txt", min_tokens=4)
    with expect_refusal("No word is left.* 2 times; lower `min_count`"):
        Corpus.from_files(tmp_path / "a.txt", min_count=2)
    with expect_refusal("no documents"):
        Corpus.from_documents([])
    with expect_refusal("no words in the 2 documents"):
        Corpus.from_documents(["1", "2"])


def test_a_vocabulary_larger_than_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b c c\n")
    with expect_refusal(
        "`vocab_size` is 10,000, larger than the corpus, which has 3 words", SettingError
    ):
        Corpus.from_files(tmp_path / "a.txt", vocab_size=10_000)
    assert Corpus.from_files(tmp_path / "a.txt").vocabulary.words == ("c", "a", "b")
    with expect_refusal("has 1 words that occur at least 2 times", SettingError):
        Corpus.from_documents(["a b c c"], vocab_size=2, min_count=2)


def test_invalid_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é word ".encode() * 20 + b"\xff bad"
    monkeypatch.setattr(_text, "BATCH_BYTES", 50)
    for name, data in [("a.txt", text), ("b.txt.gz", gzip.compress(text))]:
        (tmp_path / name).write_bytes(data)
        with expect_refusal(rf"{name} is not valid UTF-8 at byte 160 \(0xff\)"):
            Corpus.from_files(tmp_path / name)
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n{"text": "\xc3"}\n')
    with expect_refusal("a.jsonl is not valid UTF-8 at byte 24"):
        Corpus.from_files(tmp_path / "a.jsonl")
    column = pa.array([b"fine", b"\xc3", b"\xa9 f\xff"]).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    with expect_refusal("Row 1 of 'text' of .*a.parquet is not valid UTF-8 at its byte 0"):
        Corpus.from_files(tmp_path / "a.parquet")
    corpus = Corpus.from_files(tmp_path / "a.parquet", vocab_size=2, errors="replace")
    assert corpus.vocabulary.words == ("f", "fine")


def test_bad_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    monkeypatch.setattr(_text, "BATCH_BYTES", 10)
    good = '{"text": "a", "id": 1}\n\n'
    for line, message in [
        ("{", "Line 5 of .*a.jsonl is not valid JSON"),
        ('{"text": ' + 100_000 * "[", "Line 5 of .*a.jsonl is not valid JSON"),
        ("[1]", "Line 5 of .*a.jsonl is not a JSON object"),
        ('{"body": "a"}', "Line 5 of .*a.jsonl has no column 'text'; it has 'body'"),
        ('{"text": 3}', "Document 2 of .*a.jsonl has an int as its 'text', not text"),
        (r'{"text": "\ud800"}', "Document 2 of .*a.jsonl has half a surrogate pair"),
    ]:
        file.write_text(2 * good + line + "\n")
        with expect_refusal(message):
            Corpus.from_files(file)
    for array in ('[{"text": "a"}]', '[\n  {\n    "text": "a"\n  }\n]\n'):
        file.write_text(array)
        with expect_refusal("a.jsonl begins a JSON array and .* write each object of the array"):
            Corpus.from_files(file)


def test_bad_parquet(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    columns = {"title": ["a"], "number": [1], "lists": [["a"]], "structs": [{"b": "a"}]}
    pq.write_table(pa.table(columns), file)
    with expect_refusal("a.parquet has no column 'text'; it has 'title', 'number', 'lists', "):
        Corpus.from_files(file)
    for column, kind in (("number", "int64"), ("lists", "list<"), ("structs", "struct<")):
        with expect_refusal(f"The column '{column}' of .*a.parquet holds {kind}.*, not text"):
            Corpus.from_files(file, text=column)
    file.write_bytes(file.read_bytes()[:-10])
    with expect_refusal("a.parquet can't be read as Parquet"):
        Corpus.from_files(file)


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("a.gz", gzip.compress),
        ("a.bz2", bz2.compress),
        ("a.xz", lzma.compress),
        ("a.zst", zstandard.compress),
    ],
)
def test_a_damaged_compressed_file(tmp_path: Path, name: str, compress: Any) -> None:
    data = compress(np.random.default_rng(0).integers(97, 122, 10_000, np.uint8).tobytes())
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with expect_refusal(f"{name} (is damaged or cut short|can't be read)"):
        Corpus.from_files(tmp_path / name)
    (tmp_path / name).write_bytes(b"this was never compressed")
    with expect_refusal(f"{name} (is damaged or cut short|can't be read)"):
        Corpus.from_files(tmp_path / name)


@pytest.mark.parametrize(("name", "start"), [("a.jsonl.gz", b'{"text": "'), ("a.txt.gz", b"")])
def test_a_line_that_outgrows_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: bytes
) -> None:
    """A bomb: thirty kilobytes of a compressed file are one line of thirty megabytes."""
    (tmp_path / name).write_bytes(gzip.compress(start + bytes(30_000_000).replace(b"\0", b"a")))
    monkeypatch.setattr("qwem._internal.resources.available_memory", lambda: 100_000_000)
    with expect_refusal(
        rf"A line of .*{name}, more than \d+ MB long, would need .* split it", MemoryLimitError
    ):
        Corpus.from_files(tmp_path / name)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("a text", "one string.* pass a list of texts, or a file's path to from_files"),
        (b"a text", "was given bytes"),
        ({"train": ["a"]}, "a mapping.*'train'"),
        (
            datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": ["a"]})}),
            "pass one of its values, such as .* a split of a dataset: 'train'",
        ),
        (type("LazyFrame", (), {"columns": ["text"]})(), r"a LazyFrame; pass its `collect\(\)`"),
        (SimpleNamespace(columns=["text"]), "a table that Arrow can't read; pass its column"),
        (Path("a.txt"), "files are read by from_files"),
    ],
)
def test_what_are_no_documents(documents: Any, message: str) -> None:
    with expect_refusal(message, SettingError):
        Corpus.from_documents(documents)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["a", b"b"], "Document 1 is bytes; decode it"),
        (["a", 3.5], "Document 1 is a float, neither a text nor a list of words"),
        (["a", ["b"]], "Document 1 is a list of words after"),
        ([["a"], "b"], "Document 1 is a text after"),
        ([["a", b"b"]], "Document 0 has b'b' among its words"),
        ([{"body": "a"}], "Document 0 has no column 'text'; it has 'body'"),
        (["a", "b\udc00"], "Document 1 has half a surrogate pair"),
        (pa.table({"body": ["a"], "n": [1]}), "table has no column 'text'; it has 'body', 'n'"),
        (pd.DataFrame([["a", "b"]], columns=["text"] * 2), "more than one column 'text'; rename"),
        (pa.table({"text": [1]}), "'text' of the table holds int64, not text"),
        (pa.table({"text": [["a"]]}), "not text; if these are words, give the column alone"),
        (pd.DataFrame({"text": ["a", 1]}), "The column 'text' of the table is not text: "),
        (datasets.Dataset.from_dict({"body": ["a"]}), "no column 'text'; it has 'body'"),
        (datasets.Dataset.from_dict({"text": [1]}), "'text' of the dataset holds int64, not text"),
    ],
)
def test_bad_documents(documents: Any, message: str) -> None:
    with expect_refusal(message):
        Corpus.from_documents(documents)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocab_size": 0}, "`vocab_size` must be a whole number of at least 1 or None, not 0"),
        ({"min_count": 0}, "`min_count` must be a whole number of at least 1 or 'auto', not 0"),
        ({"min_tokens": -1}, "`min_tokens` must be a whole number of at least 0, not -1"),
        ({"oov": "skip"}, "`oov` must be 'drop' or 'mask', not 'skip'"),
        ({"errors": "ignore"}, "`errors` must be 'strict' or 'replace'"),
        ({"threads": 0}, "threads is no setting"),
        ({"vocabulary": Vocabulary(("a",), np.array([1])), "min_count": 2}, "pass one of the two"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with expect_refusal(message, SettingError):
        Corpus.from_documents(["a b c"], **settings)


def test_a_bad_kind_of_document(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with expect_refusal(
        "`documents` must be 'line', 'paragraph', 'file' or 'auto', not 'page'", SettingError
    ):
        Corpus.from_files(tmp_path / "a.txt", documents="page")
