"""Text behind URLs: read as from local files, and no secret is ever shown."""

from __future__ import annotations

import gzip
import json
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qwem import Corpus, fit
from qwem._internal.files import without_secrets
from qwem.corpus._files import find_files
from qwem.corpus._shards import encode_shard, split_files
from qwem.corpus.reading import Reading
from qwem.errors import CorpusError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fsspec = pytest.importorskip("fsspec")
LINES = [f"the king met queen number {'x' * (number % 7 + 1)} today" for number in range(60)]
SECRET = "pa55word"


@pytest.fixture
def memory() -> Iterator[Any]:
    """A file system in memory with text of every kind in the directory /text."""
    memory = fsspec.filesystem("memory")
    memory.pipe("/text/a.txt", ("\n".join(LINES[:20]) + "\n").encode())
    memory.pipe("/text/b.txt.gz", gzip.compress("\n".join(LINES[20:30]).encode()))
    records = "".join(json.dumps({"text": line}) + "\n" for line in LINES[30:40])
    memory.pipe("/text/c.jsonl", records.encode())
    with memory.open("/text/d.parquet", "wb") as file:
        pq.write_table(pa.table({"text": LINES[40:]}), file, row_group_size=5, compression=None)
    memory.pipe("/text/.hidden", b"\xff")
    yield memory
    memory.rm("/text", recursive=True)


def test_text_is_that_of_local_files(memory: Any, tmp_path: Path) -> None:
    memory.get("/text/", str(tmp_path), recursive=True)
    expected = Corpus.from_files(tmp_path).fingerprint
    names = [f"memory://text/{name}" for name in ("a.txt", "b.txt.gz", "c.jsonl", "d.parquet")]
    for url in ("memory://text", "memory://text/*", names):
        assert Corpus.from_files(url).fingerprint == expected
    assert fit(names, dim=2).vocabulary == fit(tmp_path, dim=2).vocabulary


def test_shards_have_every_document_once(memory: Any, tmp_path: Path) -> None:
    shards = split_files("memory://text", Reading(), 100)
    assert len(shards) > 10
    documents = 0
    for number, shard in enumerate(shards):
        documents += len(encode_shard(shard, Reading(), tmp_path / str(number)))
    assert documents == len(LINES)


def test_counting_on_a_cluster(memory: Any, tmp_path: Path) -> None:
    """In threads of this process, which share its memory."""
    distributed = pytest.importorskip("distributed")
    from qwem.cluster import count_files
    from qwem.model import Settings
    from qwem.model.fitting import count, read

    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        found = count_files(client, "memory://text", tmp_path / "work", shard_bytes=200)
    assert found == count(read("memory://text", Settings()), Settings())


def test_the_command_line(memory: Any, tmp_path: Path) -> None:
    from qwem.cli import main

    assert main(["count", "memory://text/a.txt", "--corpus", str(tmp_path / "corpus")]) == 0
    expected = Corpus.from_files("memory://text/a.txt").fingerprint
    assert Corpus.load(tmp_path / "corpus").fingerprint == expected


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://nowhere", "There is no file or directory memory://nowhere"),
        ("memory://text/*.xml", "No file matches the pattern"),
        ("strange://text", "strange://text can't be read: Protocol not known: strange"),
    ],
)
def test_what_is_not_there(memory: Any, url: str, message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        Corpus.from_files(url)
    assert message in str(caught.value)


def test_fsspec_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'qwem\[remote\]'"):
        find_files("s3://bucket/text.txt")


FileSystem: Any = fsspec.AbstractFileSystem


class Guarded(FileSystem):  # type: ignore[misc]
    """A file system whose errors have the whole URL in them, as some do."""

    protocol = "guarded"

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        if "there" in path:
            return {"name": path, "size": 5, "type": "file"}
        raise OSError(f"Forbidden: guarded://me:{SECRET}@host/{path}")

    def _open(self, path: str, *_: Any, **__: Any) -> Any:
        raise OSError(f"Forbidden: guarded://me:{SECRET}@host/{path}")

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("guarded://")

    def unstrip_protocol(self, name: str) -> str:
        return f"guarded://{name}"


@pytest.mark.parametrize("name", ["there.txt", "there.parquet", "elsewhere.txt"])
def test_secrets_are_never_shown(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from qwem.cli import main

    fsspec.register_implementation("guarded", Guarded, clobber=True)
    url = f"guarded://me:{SECRET}@host/{name}"
    with pytest.raises(CorpusError) as caught:
        Corpus.from_files(url)
    assert SECRET not in str(caught.value)
    assert f"guarded://…@host/{name}" in str(caught.value)
    assert main(["fit", url, "-o", str(tmp_path / "model")]) == 2
    assert SECRET not in capsys.readouterr().err
    if name.startswith("there"):
        assert SECRET not in repr(find_files(url))


def test_signed_urls_lose_their_signature() -> None:
    shown = without_secrets("https://host/a.txt?X-Amz-Signature=abc was refused")
    assert shown == "https://host/a.txt?… was refused"
