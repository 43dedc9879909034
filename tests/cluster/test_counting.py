"""Counting on a cluster of real processes: the bits of one machine, whatever happens to workers."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.processes import kill_workers, served
from qwem import Cooccurrence, Corpus
from qwem.cluster import _tasks, connected, connecting, count_files, counting, fit_files
from qwem.cluster._tasks import run_all, thread_total
from qwem.errors import (
    ClusterError,
    CorpusError,
    DiskLimitError,
    EmptyCorpusError,
    SettingError,
)
from qwem.model import Settings, fit
from qwem.model.fitting import count, read

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("distributed", reason="needs Dask's distributed")
SHARD = 4_000  # bytes


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain text, compressed text and Parquet with several row groups, and some empty lines."""
    import gzip

    rng = np.random.default_rng(5)
    words = np.array([f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)])
    chances = 1 / np.arange(1, 301)
    lines = [
        " ".join(rng.choice(words, size=size, p=chances / chances.sum()))
        for size in rng.integers(0, 60, size=300)
    ]
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_text("\n".join(lines[:200]) + "\n")
    with gzip.open(folder / "b.txt.gz", "wt") as file:
        file.write("\n".join(lines[200:220]))
    table = pa.table({"text": lines[220:]})
    pq.write_table(table, folder / "c.parquet", row_group_size=20, compression=None)
    return folder


def assert_same(found: Cooccurrence, expected: Cooccurrence) -> None:
    assert found == expected
    assert expected.passages is not None
    assert len(expected.passages) > 1


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(vocab_size=50, min_tokens=20, oov="mask", window=3, subsample=0.01, seed=3),
        Settings(min_count=15, subsample=None, documents="file", weights="flat"),
    ],
    ids=["default", "masked", "files"],
)
def test_counts_are_those_of_one_machine(
    client: Any, text: Path, settings: Settings, tmp_path: Path
) -> None:
    found = count_files(client, text, tmp_path, settings, shard_bytes=SHARD)
    assert_same(found, count(read(str(text), settings), settings))
    assert len(list(tmp_path.glob("shard-*"))) > (2 if settings.documents == "file" else 5)
    assert len(list(tmp_path.glob("counts-*"))) == 2


@pytest.mark.slow
def test_many_tasks_are_added_in_trees_of_rows(
    client: Any, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several levels of them, and no more than two files at a time."""
    monkeypatch.setattr(counting, "TASKS", 4)
    monkeypatch.setattr(counting, "FAN_IN", 2)
    monkeypatch.setattr(_tasks, "FAN_IN", 2)
    settings = Settings(subsample=0.01)
    found = count_files(client, text, tmp_path, settings, shard_bytes=SHARD)
    expected = count(read(str(text), settings), settings)
    assert found == expected
    assert len(list(tmp_path.glob("counts-*"))) == 8
    assert len(list(tmp_path.glob("sum-*"))) == 2 * (4 + 2)
    model = fit_files(client, text, tmp_path, settings, shard_bytes=SHARD)
    assert np.array_equal(model.embedding().vectors, fit(str(text), settings).embedding().vectors)


def test_a_run_goes_on_from_its_files(
    client: Any, text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is missing or damaged is made again, and nothing else; and that is said."""
    first = count_files(client, text, tmp_path, shard_bytes=SHARD)
    assert "continuing" not in caplog.text
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    lost, cut_short = sorted(tmp_path.glob("counts-*"))
    shutil.rmtree(lost)
    (cut_short / "metadata.json").write_text("{")
    damaged = sorted(tmp_path.glob("shard-*"))[3]
    with (damaged / "tokens.bin").open("r+b") as file:
        file.write(b"\xff")
    again = count_files(client, text, tmp_path, shard_bytes=SHARD)
    assert_same(again, first)
    shards = len(list(tmp_path.glob("shard-*")))
    assert f"continuing from {shards} of {shards} shards of text in {tmp_path}" in caplog.text
    changed = {path for path in tmp_path.iterdir() if path.stat().st_mtime_ns != times.get(path)}
    assert changed == {lost, cut_short, damaged}


def test_killed_workers_change_nothing(client: Any, text: Path, tmp_path: Path) -> None:
    over = threading.Event()

    def kill() -> None:
        rng = np.random.default_rng()
        for _ in range(2):
            if over.wait(rng.uniform(0.05, 0.5)):
                return
            kill_workers(client, most=1)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = count_files(client, text, tmp_path, shard_bytes=SHARD // 4)
    finally:
        over.set()
        killer.join()
    assert_same(found, count(read(str(text), Settings()), Settings()))


@pytest.mark.slow
def test_a_scheduler_is_killed(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said in a sentence, and the next run goes on from what is finished."""
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT", 5.0)
    work = tmp_path / "work"
    with served(tmp_path) as (address, scheduler, _), connected(address) as client:

        def lose(client: Any, work: Any, tasks: Any, description: str, *rest: Any) -> Any:
            if description == "counting":
                scheduler.kill()
                scheduler.wait()
            return run_all(client, work, tasks, description, *rest)

        monkeypatch.setattr(_tasks, "run_all", lose)
        with pytest.raises(ClusterError, match=r"was lost; finished results are kept"):
            count_files(client, text, work, shard_bytes=SHARD)
        with pytest.raises(ClusterError, match="was lost"):  # also between two stages
            thread_total(client)
    finished = {path: path.stat().st_mtime_ns for path in work.glob("shard-*")}
    assert finished
    monkeypatch.undo()
    with connected(workers=1) as client:
        found = count_files(client, text, work, shard_bytes=SHARD)
    assert_same(found, count(read(str(text), Settings()), Settings()))
    assert finished == {path: path.stat().st_mtime_ns for path in work.glob("shard-*")}


def test_errors_of_the_text_reach_the_caller(client: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"some words \xff here\n" * 1000)
    with pytest.raises(CorpusError, match=r"broken\.txt"):
        count_files(client, broken, tmp_path / "work", shard_bytes=SHARD)
    short = tmp_path / "short.txt"
    short.write_text("a few words\n" * 10)
    with pytest.raises(EmptyCorpusError, match="none has 500 words"):
        count_files(client, short, tmp_path / "work", Settings(min_tokens=500))


def test_a_text_whose_shards_do_not_fit_is_refused_early(
    client: Any, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as one shard shows how large the others will be."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=9_000))
    with pytest.raises(DiskLimitError, match=r"the other shards of this text would need .* GB mor"):
        count_files(client, text, tmp_path, shard_bytes=SHARD)
    finished = len(list(tmp_path.glob("shard-*")))
    monkeypatch.undo()
    count_files(client, text, tmp_path, shard_bytes=SHARD)
    assert finished < len(list(tmp_path.glob("shard-*")))


def test_an_error_of_a_task_is_not_taken_for_a_lost_cluster(client: Any) -> None:
    def wait() -> None:  # workers can't import this module, so the function travels whole
        raise TimeoutError("too slow")

    with pytest.raises(ClusterError, match=r"A worker could not do its work: too slow; finished"):
        run_all(client, wait, [()], "waiting")


def test_workers_that_share_no_directory_are_refused(
    client: Any, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hide(client: Any, work: Any, tasks: Any, description: str) -> Any:
        tasks[0][0].unlink()  # what this process wrote is not there for workers
        return run_all(client, work, tasks, description)

    monkeypatch.setattr(_tasks, "SHARING_TIMEOUT", 0.2)
    monkeypatch.setattr(_tasks, "run_all", hide)
    with pytest.raises(ClusterError, match=r"Workers don't see files written to .*/work; choose"):
        count_files(client, text, tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_one_cluster_is_named() -> None:
    for address, workers in ((None, None), ("tcp://127.0.0.1:1", 2)):
        with pytest.raises(SettingError, match="either the address"), connected(address, workers):
            pass


def test_a_missing_cluster_is_an_error_that_says_what_to_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT", 1.0)
    monkeypatch.setattr(connecting, "LOG_DELAY", 0.1)
    with (
        pytest.raises(ClusterError, match=r"no cluster at tcp://127\.0\.0\.1:1; start"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass
    assert "waiting for the cluster at tcp://127.0.0.1:1, 1 seconds at most" in caplog.text


@pytest.mark.parametrize("shard_bytes", [1, 7, 50, 10_000])
def test_shards_have_every_line_once(shard_bytes: int, tmp_path: Path) -> None:
    from qwem.corpus._shards import encode_shard, split_files
    from qwem.corpus.reading import Reading

    text = tmp_path / "text.txt"
    text.write_text("one\n\ntwo three\nfour five six seven eight\n\n\nnine")
    shards = split_files(text, Reading(), shard_bytes)
    words: list[list[str]] = []
    for number, shard in enumerate(shards):
        encoded = encode_shard(shard, Reading(), tmp_path / str(number))
        for first, last in zip(encoded.offsets, encoded.offsets[1:], strict=False):
            words.append([encoded.vocabulary.words[i] for i in encoded.tokens[first:last]])
    assert [line for line in words if line] == [
        ["one"], ["two", "three"], ["four", "five", "six", "seven", "eight"], ["nine"]
    ]  # fmt: skip


def test_recoding_equals_encoding_with_these_words(text: Path) -> None:
    corpus = Corpus.from_files(text / "a.txt")
    other = Corpus.from_files(text / "a.txt", vocab_size=40)
    words = other.vocabulary
    for oov in ("drop", "mask"):
        expected = Corpus.from_files(text / "a.txt", vocabulary=words, oov=oov)
        recoded = corpus.recode(words, oov=oov)
        assert recoded.fingerprint == expected.fingerprint
        assert recoded.settings["words_kept"] == expected.settings["words_kept"]


def test_the_command_line_counts_on_a_cluster(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from qwem.cli import main

    output, shards = tmp_path / "counts", tmp_path / "counts-shards"
    arguments = ["count", str(text), "-o", str(output), "--local-cluster", "1"]
    shards.mkdir()
    (shards / "notes.txt").write_text("mine")
    assert main(arguments) == 0
    assert_same(Cooccurrence.load(output), count(read(str(text), Settings()), Settings()))
    assert [entry.name for entry in shards.iterdir()] == ["notes.txt"], "files of the user stay"
    assert main([*arguments, "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert "--cluster and --local-cluster name two clusters;" in capsys.readouterr().err
    assert main(["count", str(output), "-o", str(output), "--local-cluster", "1"]) == 2
    assert "A cluster counts text files; give their names." in capsys.readouterr().err
