"""Workers that can't start, that stop without ending, and what they leave behind."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

distributed = pytest.importorskip("distributed", reason="needs Dask's distributed")

from qwem.cluster import connected, connecting, remove_results  # noqa: E402
from qwem.errors import ClusterError  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_a_stopped_worker_is_given_up_and_nothing_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Functions in here, because workers can't import this file.
    def slow_square(number: int) -> int:
        time.sleep(0.3)
        return number * number

    def fill_the_disk() -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connecting, "WORKER_TIMEOUT", 2.0)
    with connected(workers=2) as client:
        futures = client.map(slow_square, range(8), pure=False)
        stopped = next(iter(client.cluster.workers.values())).pid
        time.sleep(0.7)
        os.kill(stopped, signal.SIGSTOP)
        distributed.wait(futures, timeout=60)  # Dask's own patience is five minutes
        assert client.gather(futures) == [number**2 for number in range(8)]
        with pytest.raises(OSError, match="No space left"):
            client.submit(fill_the_disk).result()
    assert "failed to heartbeat" in caplog.text
    assert "Traceback" not in capfd.readouterr().err
    assert not any(tmp_path.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)


def test_workers_that_can_not_start_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def end_at_once(**options: Any) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", end_at_once)
    with (
        pytest.raises(ClusterError, match=r"2 workers could not be started \(Nanny failed"),
        connected(workers=2),
    ):
        pass


def test_the_probe_of_a_killed_run_and_an_empty_directory_are_removed(tmp_path: Path) -> None:
    place = tmp_path / "shards"
    place.mkdir()
    (place / ".probe-0123456789abcdef").touch()
    (place / "mine").touch()
    remove_results(place)
    assert [entry.name for entry in place.iterdir()] == ["mine"]
    (place / "mine").unlink()
    remove_results(place)
    assert not place.exists()
