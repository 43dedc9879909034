"""Text of an SQLite database comes through a query, with its columns."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from qwem import Corpus
from qwem.cli import main
from qwem.corpus import read_columns
from qwem.errors import CorpusError

if TYPE_CHECKING:
    from pathlib import Path

SPEECHES = [("The king, the queen.", 1990), (None, 1995), ("A cat and the king.", 2001)] * 20
QUERY = "SELECT body AS text, year FROM speeches ORDER BY rowid"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "a b.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE speeches (body TEXT, year INTEGER)")
        connection.executemany("INSERT INTO speeches VALUES (?, ?)", SPEECHES)
    connection.close()
    return file


def test_a_query_gives_documents_and_columns(database: Path) -> None:
    corpus = Corpus.from_files(database, query=QUERY)
    expected = Corpus.from_documents([text for text, _ in SPEECHES])
    assert corpus.fingerprint == expected.fingerprint
    assert corpus.settings["query"] == QUERY
    assert read_columns(database, ["year"], query=QUERY) == {"year": [y for _, y in SPEECHES]}


def test_without_a_query_the_tables_are_listed(database: Path) -> None:
    with pytest.raises(CorpusError, match="with the tables 'speeches'; give `query`, such as 'SEL"):
        Corpus.from_files(database)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT body FROM speeches", "has no column 'text'; it has 'body'"),
        (
            "SELECT year AS text FROM speeches",
            "Document 0 of .* has an int as its 'text', not text",
        ),
        ("SELECT author FROM speeches", "can't be answered: no such column: author"),
        ("DROP TABLE speeches", "can't be answered: attempt to write a readonly database"),
    ],
)
def test_a_bad_query_is_one_sentence(database: Path, query: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        Corpus.from_files(database, query=query)


def test_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"not a database, although it is called one" * 50)
    with pytest.raises(CorpusError, match="can't be answered: file is not a database"):
        Corpus.from_files(tmp_path / "a.db", query=QUERY)


def test_the_command_line_takes_a_query(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "corpus")
    assert main(["count", str(database), "--corpus", output, "--query", QUERY]) == 0
    assert Corpus.load(output).settings["documents_kept"] == len(SPEECHES)
    capsys.readouterr()
