"""Work in threads: bounded, computed once, and kept within bounds."""

from __future__ import annotations

import asyncio
import threading

import pytest

from qwem.explorer.work import BusyError, Cache, Lane, Workshop


def test_equal_requests_are_computed_once() -> None:
    done = []

    def work() -> bytes:
        done.append(threading.current_thread().name)
        return b"answer"

    async def ask() -> list[bytes]:
        workshop = Workshop()
        together = await asyncio.gather(*(workshop.answer("key", work) for _ in range(20)))
        return [*together, await workshop.answer("key", work)]

    assert asyncio.run(ask()) == [b"answer"] * 21
    assert len(done) == 1
    assert "qwem-explore" in done[0]  # not on the thread of the event loop


def test_requests_without_a_key_are_computed_each_time() -> None:
    done: list[int] = []

    def work() -> bytes:
        done.append(1)
        return b"answer"

    async def ask() -> None:
        workshop = Workshop()
        await workshop.answer(None, work)
        await workshop.answer(None, work)

    asyncio.run(ask())
    assert len(done) == 2


def test_a_failure_is_told_and_not_kept() -> None:
    failures = [ValueError("once")]

    def work() -> bytes:
        if failures:
            raise failures.pop()
        return b"answer"

    async def ask() -> bytes:
        workshop = Workshop()
        with pytest.raises(ValueError, match="once"):
            await workshop.answer("key", work)
        return await workshop.answer("key", work)

    assert asyncio.run(ask()) == b"answer"


def test_a_full_queue_is_told_at_once() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> bytes:
        begun.set()
        go_on.wait(60)
        return b""

    async def ask() -> None:
        lane = Lane(threads=1, queue=1)
        running = [asyncio.ensure_future(lane.run(work)) for _ in range(2)]
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
        with pytest.raises(BusyError, match="try again"):
            await lane.run(work)
        go_on.set()
        await asyncio.gather(*running)
        await lane.run(work)

    asyncio.run(ask())


def test_a_cache_keeps_within_its_bytes() -> None:
    cache = Cache(most_bytes=100)
    for k in range(10):
        cache.keep(k, bytes(30))
        cache.get(0)  # used again and again
    assert [k for k in range(10) if cache.get(k)] == [0, 8, 9]
    cache.keep("large", bytes(101))
    assert cache.get("large") is None
    cache.keep(0, bytes(40))
    assert cache.get(0) == bytes(40)
    assert cache.get(9) is not None
