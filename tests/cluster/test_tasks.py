"""Tasks whose futures or workers are lost: each is done again, and the run ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

distributed = pytest.importorskip("distributed", reason="needs Dask's distributed")

from cluster.processes import kill_workers  # noqa: E402
from qwem.cluster import _tasks, connected  # noqa: E402
from qwem.cluster._tasks import run_all  # noqa: E402
from qwem.errors import ClusterError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = [(number,) for number in range(5)]
SQUARES = [number**2 for (number,) in TASKS]


def bounded(work: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Return what `work` returns, from a thread; fail if it takes too long to ever end."""
    found: list[Any] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "the run hangs"
    if errors:
        raise errors[0]
    return found[0]


def squares(client: Any) -> list[int]:
    # The function is made here, because workers can't import this file.
    found: list[int] = run_all(client, lambda number: number**2, TASKS, "squaring")
    return found


class Losing:
    """A client that changes how the first task is submitted for the first time."""

    def __init__(self, client: Any, submit: Callable[..., Any]) -> None:
        self._client, self._submit = client, submit
        self.submitted: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def submit(self, work: Any, number: int, **options: Any) -> Any:
        self.submitted.append(number)
        submit = self._submit if self.submitted == [0] else self._client.submit
        return submit(work, number, **options)


def test_a_task_that_no_worker_has_is_submitted_again(client: Any) -> None:
    def nowhere(*task: Any, **options: Any) -> Any:
        return client.submit(*task, workers="tcp://127.0.0.1:1", **options)

    losing = Losing(client, nowhere)
    assert bounded(lambda: squares(losing)) == SQUARES
    assert sorted(losing.submitted) == [0, 0, 1, 2, 3, 4]


def test_a_cancelled_task_ends_the_run_in_one_sentence(client: Any) -> None:
    def cancelled(*task: Any, **options: Any) -> Any:
        future = client.submit(*task, **options)
        client.cancel(future)
        return future

    with pytest.raises(ClusterError, match="finished results are kept: run the same command again"):
        bounded(lambda: squares(Losing(client, cancelled)))


def test_a_result_that_arrives_late_has_more_time_at_each_attempt(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine under load is slow for all attempts alike."""
    fetch, asked = distributed.Future.result, []

    def late(future: Any, timeout: float) -> Any:
        asked.append(timeout)
        if timeout < 4 * _tasks.POLL_SECONDS:
            raise TimeoutError
        return fetch(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", late)
    assert bounded(lambda: squares(client)) == SQUARES
    assert sorted(asked) == [timeout for timeout in (1.0, 2.0, 4.0) for _ in TASKS]


def test_a_local_worker_may_take_longer_than_usual_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask closes a worker for good if it is not back in time."""
    import dask

    monkeypatch.setattr(_tasks, "MOST_POLLS_WITHOUT_WORKERS", 90)
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100 ms"}),
        connected(workers=1) as client,
    ):
        assert bounded(lambda: squares(client)) == SQUARES
        kill_workers(client)
        assert bounded(lambda: squares(client)) == SQUARES
