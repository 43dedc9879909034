"""Columns beside the text have one value for each document, in the order of the corpus."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from qwem import Corpus
from qwem.corpus import read_columns
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {"text": "the king", "year": 1990, "party": "D"},
    {"text": None, "year": None, "party": "R"},
    {"text": "the queen", "year": 2001, "party": "R"},
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    lines = [json.dumps(row) for row in ROWS]
    (tmp_path / "a.jsonl").write_text("\n".join([lines[0], "", *lines[1:]]) + "\n")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write(lines[2])
    parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet", row_group_size=2)
    return tmp_path


def test_there_is_one_value_for_each_document(texts: Path) -> None:
    corpus = Corpus.from_files(texts)
    columns = read_columns(texts, ["party", "year"])
    assert len(corpus) == 7
    assert columns["party"] == ["D", "R", "R", "R", "D", "R", "R"]
    assert columns["year"] == [1990, None, 2001, 2001, 1990, None, 2001]


def test_columns_that_are_not_there(texts: Path) -> None:
    with pytest.raises(CorpusError, match=r"No document has a value for 'age'"):
        read_columns(texts / "a.jsonl", ["age"])
    with pytest.raises(CorpusError, match=r"no column 'age'; it has 'text', 'year', 'party'"):
        read_columns(texts / "c.parquet", ["age"])
    (texts / "plain.txt").write_text("the king\n")
    with pytest.raises(CorpusError, match="plain text"):
        read_columns(texts / "plain.txt", ["age"])
    with pytest.raises(SettingError, match="at least one"):
        read_columns(texts, [])


def test_damaged_files_are_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"year": 1}\n{"year": \n')
    with pytest.raises(CorpusError, match=r"Line 2 of .* is not valid JSON"):
        read_columns(tmp_path / "a.jsonl", ["year"])
    (tmp_path / "a.jsonl").write_text("[1]\n")
    with pytest.raises(CorpusError, match="not a JSON object"):
        read_columns(tmp_path / "a.jsonl", ["year"])
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorpusError, match="can't be read as Parquet"):
        read_columns(tmp_path / "a.parquet", ["year"])
