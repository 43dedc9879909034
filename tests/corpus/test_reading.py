"""Every kind of file and of iterable gives the same documents."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem import Corpus
from qwem.corpus import _text, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCUMENTS = ["The king.", "", "Die Königin – und der König", "q Ω"]
EXPECTED = Corpus.from_documents(DOCUMENTS).fingerprint


def write_parquet(path: Path, texts: list[str | None] = [*DOCUMENTS]) -> None:  # noqa: B006
    pq.write_table(pa.table({"id": range(len(texts)), "text": texts}), path, row_group_size=2)


def write_lines(path: Path, opener: Callable[[Path, str], Any] = open) -> None:
    with opener(path, "wb") as file:
        file.write("\n".join(DOCUMENTS).encode())


def write_json(path: Path, opener: Callable[[Path, str], Any] = open) -> None:
    with opener(path, "wb") as file:
        file.write("\n\n".join(json.dumps({"text": text}) for text in DOCUMENTS).encode())


def zstd(path: Path, mode: str) -> Any:
    return zstandard.open(path, mode)


WRITERS: dict[str, Callable[[Path], None]] = {
    "a.txt": write_lines,
    "a": write_lines,
    "a.txt.gz": lambda path: write_lines(path, gzip.open),
    "a.bz2": lambda path: write_lines(path, bz2.open),
    "a.txt.xz": lambda path: write_lines(path, lzma.open),
    "a.txt.zst": lambda path: write_lines(path, zstd),
    "a.jsonl": write_json,
    "a.ndjson": write_json,
    "a.JSON.gz": lambda path: write_json(path, gzip.open),
    "a.jsonl.zst": lambda path: write_json(path, zstd),
    "a.parquet": write_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_corpus(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    corpus = Corpus.from_files(tmp_path / name, vocab_size=None)
    assert corpus.fingerprint == EXPECTED


def test_every_iterable_gives_the_same_corpus() -> None:
    def generator() -> Iterator[str]:
        yield from DOCUMENTS

    words = [["the", "king"], [], ["die", "königin", "und", "der", "könig"], ["q", "ω"]]
    table = datasets.Dataset.from_dict({"text": DOCUMENTS, "id": [1, 2, 3, 4]})
    for documents in (
        DOCUMENTS,
        generator(),
        [{"text": text} for text in DOCUMENTS],
        words,
        map(iter, words),
        [{"text": text} for text in words],
        pa.chunked_array([DOCUMENTS[:1], DOCUMENTS[1:]]),
        table,
        table.to_iterable_dataset(),
        table.select([3, 2, 1, 0]).select([3, 2, 1, 0]),
        datasets.IterableDataset.from_generator(lambda: ({"text": text} for text in DOCUMENTS)),
    ):
        assert Corpus.from_documents(documents).fingerprint == EXPECTED


def test_null_is_an_empty_document(tmp_path: Path) -> None:
    texts = ["a", None, "b"]
    write_parquet(tmp_path / "a.parquet", texts)
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    for corpus in (
        Corpus.from_documents(texts),
        Corpus.from_documents([["a"], None, ["b"]]),
        Corpus.from_documents(datasets.Dataset.from_dict({"text": texts})),
        Corpus.from_files(tmp_path / "a.parquet", vocab_size=None),
        Corpus.from_files(tmp_path / "a.jsonl", vocab_size=None),
    ):
        assert corpus.offsets.tolist() == [0, 1, 1, 2]


def test_the_text_may_have_another_name_or_arrow_type(tmp_path: Path) -> None:
    column = pa.array(["a b", "c"])
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        pq.write_table(pa.table({"body": column.cast(kind)}), tmp_path / "a.parquet")
        corpus = Corpus.from_files(tmp_path / "a.parquet", vocab_size=3, text="body")
        assert corpus.vocabulary.words == ("a", "b", "c")


def test_polars_has_views_of_text() -> None:
    views = pa.array(["a b", None, "c"], pa.string_view())
    for column in (views, pa.DictionaryArray.from_arrays([0, 1, 2], views)):
        corpus = Corpus.from_documents(pa.table({"body": column}), text="body", min_count=1)
        assert corpus.offsets.tolist() == [0, 2, 2, 3]
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = polars.DataFrame({"body": ["a b", None, "c"], "year": [1, 2, 3]})
    for kind in (polars.String, polars.Categorical):
        given = frame.with_columns(polars.col("body").cast(kind))
        corpus = Corpus.from_documents(given, text="body", min_count=1)
        assert corpus.offsets.tolist() == [0, 2, 2, 3]
        assert read_columns(given, ["year"]) == {"year": [1, 2, 3]}


def test_a_document_is_a_line_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a b\r\n\r\nc\n")
    (tmp_path / "b.txt").write_bytes(b"d\ne")
    lines = Corpus.from_files(tmp_path, vocab_size=None)
    files = Corpus.from_files(tmp_path, vocab_size=None, documents="file")
    assert lines.offsets.tolist() == [0, 2, 2, 3, 4, 5]
    assert files.offsets.tolist() == [0, 3, 5]
    whole = Corpus.from_files(tmp_path, vocab_size=None, tokenizer=str.splitlines)
    assert whole.vocabulary.words == ("a b", "c", "d", "e")


def test_directories_and_patterns(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for name in ("b.txt", "a.txt", "sub/deep/c.txt", ".hidden/x.txt", "sub/.y.txt", "sub/e.txt"):
        (tmp_path / name).write_text(Path(name).stem.strip(".") + "\n")
    (tmp_path / "empty.txt").touch()  # found, not named: not an error

    def words(paths: Any) -> list[str]:
        corpus = Corpus.from_files(paths, vocab_size=None)
        return [corpus.vocabulary.words[i] for i in corpus.tokens]

    assert words(tmp_path) == ["a", "b", "c", "e"]
    assert words(str(tmp_path / "*.txt")) == ["a", "b"]
    assert words(str(tmp_path / "**" / "*.txt")) == ["a", "b", "c", "e"]
    assert words([tmp_path / "b.txt", tmp_path / "a.txt"]) == ["b", "a"]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("a b".encode("utf-8-sig"))
    corpus = Corpus.from_files(tmp_path / "a.txt", vocab_size=None, tokenizer=str.split)
    assert corpus.vocabulary.words == ("a", "b")


@settings(deadline=None)
@given(data=st.binary(max_size=60), size=st.integers(1, 20), lines=st.booleans())
def test_replacing_bad_bytes_equals_python(
    data: bytes, size: int, lines: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = b"x " + data.replace(b"\0", b"")
    file = tmp_path_factory.mktemp("bytes") / "a.txt"
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "BATCH_BYTES", size)
        corpus = Corpus.from_files(
            file, vocab_size=None, errors="replace", documents="line" if lines else "file"
        )
    text = data.decode("utf-8", "replace")
    documents = text.removesuffix("\n").split("\n") if lines else [text]
    assert corpus.fingerprint == Corpus.from_documents(documents).fingerprint


def test_half_a_surrogate_pair_can_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(r'{"text": "a\ud800b"}')
    expected = ("a", "b")
    assert Corpus.from_files(file, vocab_size=2, errors="replace").vocabulary.words == expected
    assert Corpus.from_documents(["a\ud800b"], errors="replace").vocabulary.words == expected
