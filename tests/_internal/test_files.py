"""Files are written whole or not at all, leftovers of killed processes removed, inputs read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from in_threads import in_threads
from qwem import Corpus
from qwem._internal import files
from qwem._internal.files import release, writing_file
from qwem.cooccurrence import Slot
from qwem.cooccurrence import _counting as counting
from qwem.corpus import Phrases, Vocabulary
from qwem.corpus import _token_stream as token_stream
from qwem.errors import ArtefactError


def write(path: Path, content: bytes, error: Exception | None = None) -> None:
    with writing_file(path) as file:
        file.write(content)
        if error is not None:
            raise error


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write(tmp_path / "file", b"old")
    with pytest.raises(RuntimeError, match="half"):
        write(tmp_path / "file", b"new", RuntimeError("half"))
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ArtefactError, match="is a directory"):
        write(tmp_path, b"")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    for content in (b"old", b"new"):
        write(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_bytes() == content


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in the file system")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=write, args=(pipe, b"through"))
    writer.start()
    assert pipe.read_bytes() == b"through"
    writer.join()
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_dash_is_standard_output(name: str) -> None:
    if name != "-" and not Path(name).is_symlink():
        pytest.skip("this system has no link /dev/stdout")
    program = (
        "from qwem._internal.files import writing_file\n"
        f"with writing_file({name!r}) as file: file.write(b'text')"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert result.stdout == b"text"
    assert name == "-" or Path(name).is_symlink()


def test_the_umask_is_honoured(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write(tmp_path / "file", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


KILLED = """
import os, sys
from pathlib import Path
from qwem._internal import files
from qwem._internal.files import writing_file
{before}
with {writing} as made:
    {after}
    os.kill(os.getpid(), 9)
"""


def run_and_kill(writing: str, *arguments: Path, before: str = "", after: str = "pass") -> None:
    program = KILLED.format(writing=writing, before=before, after=after)
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False)
    assert done.returncode == -9


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    run_and_kill("writing_file(sys.argv[1])", path)
    assert len(names(tmp_path)) == 2
    with writing_file(path) as file:
        file.write(b"new")
    assert names(tmp_path) == ["page.html"]


def test_temporary_directories_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with files.temporary_directory("work") as mine:
        run_and_kill("files.temporary_directory('work')", after="(made / 'f').touch()")
        run_and_kill("files.temporary_directory('other')")
        assert len(names(tmp_path)) == 3
        with files.temporary_directory("work") as second:
            assert mine.exists()
            (second / "file").touch()
    assert [name.split(".")[1] for name in names(tmp_path)] == ["other"]


def test_a_number_that_was_given_again_does_not_keep_what_is_left(tmp_path: Path) -> None:
    """In a container every process may have the same number."""
    left = files.temporary_name(tmp_path / "model")
    left.mkdir()
    files.remove_abandoned(tmp_path / "model")
    assert left.exists(), "this process may be about to lock it"
    os.utime(left, (0, 0))
    files.remove_abandoned(tmp_path / "model")
    assert not left.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_what_is_locked_is_kept_whoever_made_it(tmp_path: Path) -> None:
    """Two containers that share a disk don't see each other's processes."""
    left = files.temporary_name(tmp_path / "model")
    foreign = left.with_name(left.name.replace(f"-{os.getpid()}-", "-999999999-"))
    foreign.mkdir()
    with files.locked(foreign):
        files.remove_abandoned(tmp_path / "model")
        assert foreign.exists()
    files.remove_abandoned(tmp_path / "model")
    assert not foreign.exists()


def test_other_names_are_left_alone(tmp_path: Path) -> None:
    others = [".model", ".model.txt", ".model.backup-1-abcdef01", "model-999999999-abcdef01"]
    for name in others:
        (tmp_path / name).mkdir()
    files.remove_abandoned(tmp_path / "model")
    assert names(tmp_path) == sorted(others)


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    with writing_file(path) as file:
        file.write(b"text")
    assert path.read_bytes() == b"text"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_errors_name_the_path_that_was_given(tmp_path: Path) -> None:
    def fill() -> None:
        with writing_file("/dev/full") as file:
            file.write(b"text")
            file.flush()

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill()
    assert caught.value.filename == "/dev/full"
    directory = tmp_path / "gone"

    def remove_it() -> None:
        with writing_file(directory / "file"):
            shutil.rmtree(directory)

    with pytest.raises(OSError, match="No such file") as caught:
        remove_it()
    assert caught.value.filename == str(directory / "file")


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says what is in memory")
TOKENS, CHUNK = 1 << 22, 1 << 18


def resident(file: Path) -> int:
    """Return how many bytes of a mapped file are in this process's memory."""
    total, here = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):
            here = bool(rest) and rest[-1] == str(file)
        elif here and name == "Rss:":
            total += 1024 * int(rest[0])
    return total


def mapped(file: Path) -> np.memmap:
    np.random.default_rng(2).integers(0, 50, TOKENS, dtype=np.uint16).tofile(file)
    return np.memmap(file, np.uint16, "r")


def mapped_corpus(file: Path) -> Corpus:
    """A corpus of a thousand documents, none of whose tokens are in memory."""
    tokens = mapped(file)
    words = Vocabulary(tuple(f"w{number}" for number in range(50)), np.arange(50)[::-1])
    corpus = Corpus(tokens, np.linspace(0, TOKENS, 1001).astype(np.int64), words)
    release(tokens)
    return corpus


def test_a_part_is_given_back_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = mapped(file)
    total = int(tokens.sum())
    assert resident(file) == tokens.nbytes
    release(tokens[TOKENS // 4 :][: TOKENS // 2])
    assert resident(file) <= tokens.nbytes // 2
    assert int(tokens.sum()) == total
    release(tokens)
    assert resident(file) == 0


def test_what_may_have_been_changed_is_kept(tmp_path: Path) -> None:
    np.zeros(100_000, np.uint16).tofile(tmp_path / "tokens")
    for array in (np.memmap(tmp_path / "tokens", np.uint16, "c"), np.zeros(100_000, np.uint16)):
        array[:] = 7
        release(array)
        assert (array == 7).all()


def test_a_corpus_is_counted_recoded_and_saved_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    corpus = mapped_corpus(file)
    most = 0
    count_head = counting._Counter._count_head

    def look(*arguments: Any) -> Any:
        nonlocal most
        most = max(most, resident(file))
        return count_head(*arguments)

    monkeypatch.setattr(counting._Counter, "_count_head", look)
    counts = counting.count_pairs(corpus, [Slot((2, 1))], None, CHUNK)
    assert counts.words.sum() == TOKENS
    assert most <= 2 * CHUNK
    corpus.recode(corpus.vocabulary.restrict(20))
    corpus.save(tmp_path / "corpus")
    assert Corpus.load(tmp_path / "corpus").fingerprint == corpus.fingerprint
    assert resident(file) <= 2 * CHUNK


@pytest.mark.slow
def test_phrases_are_found_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    corpus = mapped_corpus(file)
    taken: list[int] = []

    def look(array: Any) -> None:
        taken.append(resident(file))
        release(array)

    monkeypatch.setattr(token_stream, "_CHUNK_TOKENS", CHUNK)
    monkeypatch.setattr(token_stream, "release", look)
    phrases = in_threads(1, lambda: Phrases.learn(corpus, passes=2, threshold=0.0))
    assert len(phrases)
    in_threads(1, lambda: phrases.join(corpus))
    assert len(taken) > 4 * TOKENS // CHUNK
    # A chunk, and what the system maps around it, 2 MB.
    assert max(taken) <= corpus.tokens.nbytes // 2
