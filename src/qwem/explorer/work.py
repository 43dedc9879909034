"""Work of the server: in threads, a bounded number at a time, each result computed once."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from qwem.errors import QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Result = TypeVar("Result")

CACHE_BYTES = 32 << 20
QUICK_THREADS, HEAVY_THREADS = 4, 1
QUICK_QUEUE, HEAVY_QUEUE = 512, 16


class BusyError(QwemError):
    """Too much work is waiting already."""


class Cache:
    """Answers by key, the least recently used forgotten first, within a number of bytes.

    >>> cache = Cache(most_bytes=10)
    >>> cache.keep("a", b"123456"); cache.keep("b", b"123456")
    >>> cache.get("a"), cache.get("b")
    (None, b'123456')
    """

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> bytes | None:
        """Return the answer that was kept, if it still is."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def keep(self, key: Hashable, answer: bytes) -> None:
        """Keep an answer, unless it alone is too large."""
        if len(answer) > self._most:
            return
        with self._lock:
            if (old := self._kept.pop(key, None)) is not None:
                self._size -= len(old)
            self._kept[key] = answer
            self._size += len(answer)
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])


class Recent:
    """The last results of some computations, so that two answers can share one.

    >>> recent = Recent(size=1)
    >>> recent.get("a", lambda: 1), recent.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, size: int = 3) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result of this key, computed now if it is not there, one at a time."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = compute()
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
            result: Result = self._kept[key]
            return result


class Lane:
    """Threads for one kind of work, with a bounded queue in front of them."""

    def __init__(self, threads: int, queue: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="qwem-explore")
        self._most = threads + queue
        self._waiting = 0

    async def run(self, work: Callable[[], bytes]) -> bytes:
        """Return what `work` returns, from a thread; raise `BusyError` if the queue is full."""
        if self._waiting >= self._most:
            raise BusyError("The server has too much to compute at the moment; try again later.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Forget what is waiting, and end the threads after what they are at."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Workshop:
    """Quick and heavy work, with a cache: equal requests at the same time are computed once."""

    def __init__(self) -> None:
        self.cache = Cache()
        self._quick = Lane(QUICK_THREADS, QUICK_QUEUE)
        self._heavy = Lane(HEAVY_THREADS, HEAVY_QUEUE)
        self._running: dict[Hashable, asyncio.Future[bytes]] = {}

    async def answer(
        self, key: Hashable | None, work: Callable[[], bytes], *, heavy: bool = False
    ) -> bytes:
        """Return the answer of `work`; with a key, from the cache or from equal work under way."""
        lane = self._heavy if heavy else self._quick
        if key is None:
            return await lane.run(work)
        if (kept := self.cache.get(key)) is not None:
            return kept
        if (running := self._running.get(key)) is None:
            running = asyncio.ensure_future(lane.run(work))
            self._running[key] = running
            running.add_done_callback(lambda done: self._finish(key, done))
        # One client that leaves does not take the answer from the others.
        return await asyncio.shield(running)

    def _finish(self, key: Hashable, done: asyncio.Future[bytes]) -> None:
        del self._running[key]
        if not done.cancelled() and done.exception() is None:
            self.cache.keep(key, done.result())

    def close(self) -> None:
        """End the threads."""
        self._quick.close()
        self._heavy.close()
