"""What a run uses and shows: imports, threads, memory, progress bars, text on a terminal."""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from qwem.errors import MemoryLimitError, MissingExtraError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


_LOGGER = logging.getLogger(__name__)


def require(module: str, extra: str) -> Any:
    """Import `module`, or say which extra of qwem installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"This needs {package}, which is not installed: pip install 'qwem[{extra}]'."
        ) from error


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports these names on first use.

    >>> get, listed = lazy_names("json", {"decoder": ["JSONDecodeError"]}, ["tool"])
    >>> get("JSONDecodeError").__name__, get("tool").__name__, "tool" in listed()
    ('JSONDecodeError', 'json.tool', True)
    """
    home = {name: module for module, names in modules.items() for name in names}
    children = set(subpackages)

    def get(name: str) -> Any:
        if name in home:
            return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        if name in children:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        own = vars(sys.modules[package])
        return sorted({*home, *children, *own.get("__all__", ()), *filter(_is_special, own)})

    return get, listed


def _is_special(name: str) -> bool:
    return name.startswith("__")


MOST_THREADS = 1_000_000
"""More threads than this are refused as a mistake."""
_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Use at most `count` threads in the block; None changes nothing.

    The default is one thread per core that this process may use. Results are the same for any
    number.

    >>> import qwem
    >>> with qwem.threads(2):
    ...     model = qwem.fit(["the king and the queen"] * 9, dim=1)
    """
    if count is None:
        yield
        return
    if not 1 <= count <= MOST_THREADS:
        raise SettingError(f"`threads` must be from 1 to {MOST_THREADS:,}, not {count}.")
    before = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(before)


def thread_count() -> int:
    """Return how many threads to use: the number set by `threads`, or one per core.

    Each thread has buffers and files of its own, so at most four per core are used, or 32 on small
    machines. A larger number is lowered with a warning.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    count = _THREADS.get()
    if count is None:
        return cores
    most = max(32, 4 * cores)
    if count > most:
        _warn_too_many(count, cores, most)
    return min(count, most)


@cache  # one fit asks dozens of times
def _warn_too_many(threads: int, cores: int, most: int) -> None:
    _LOGGER.warning("%d threads are too many for %d cores; using %d.", threads, cores, most)


@contextmanager
def blas_threads(count: int | None = None) -> Iterator[None]:
    """Limit the threads of matrix products in the block, by default to `thread_count`."""
    if count is None and _THREADS.get() is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(thread_count() if count is None else count):
        yield


def available_memory() -> int:
    """Return the bytes of memory that are free, within the limits of process and container."""
    import psutil

    available: int = min(psutil.virtual_memory().available, _left_to_process())
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # no container, or one without a limit
        return available
    return min(available, limit - used)


def _left_to_process() -> int:
    """Return how many bytes this process may still allocate (``ulimit -v``)."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    import psutil

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return limit - int(psutil.Process().memory_info().vms)


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise `MemoryLimitError` unless `needed` bytes are available for `what`."""
    available = available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"{what} would need {needed / 1e9:.1f} GB of memory and "
            f"{available / 1e9:.1f} GB are available; {remedy}."
        )


def return_freed_memory() -> None:
    """Return freed memory to the system, if the C library keeps it (glibc)."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):  # Windows and others have no such call
        ctypes.CDLL(None).malloc_trim(0)


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


STAGES = logging.getLogger("qwem.stages")
"""Logs the name of each stage as it starts, at level INFO."""


class Progress(Protocol):
    """A progress bar."""

    total: float | None

    def update(self, amount: float = 1) -> Any:
        """Advance by `amount`."""

    def set_postfix_str(self, text: str) -> Any:
        """Show `text` after the bar."""

    def __enter__(self) -> Progress: ...
    def __exit__(self, *exception: object) -> Any: ...


def progress(description: str, total: float | None = None, unit: str = "it") -> Progress:
    """Return a progress bar on a terminal or in a notebook, and a silent one elsewhere.

    The user can switch bars off with TQDM_DISABLE=1 in the environment.
    """
    if _in_notebook():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets the bar is plain text
            from tqdm.auto import tqdm
        shown = {}
    else:
        from tqdm import tqdm

        shown = {} if sys.stderr.isatty() else {"disable": True}

    _HEARTBEAT.close_line()
    bar: Progress = _bar_of(tqdm)(
        desc=description,
        total=total,
        unit=unit,
        unit_scale=True,
        leave=False,
        **_shape(),
        **shown,
    )
    _HEARTBEAT.add(bar)
    return bar


def _shape() -> dict[str, Any]:
    """Return the size of bars for tqdm, which draws nothing on a terminal of unknown width."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):  # not a terminal
        columns = -1
    return {"ncols": 80, "nrows": 24} if columns == 0 else {"dynamic_ncols": True}


@cache  # tqdm starts a thread for every class of bars
def _bar_of(tqdm: Any) -> Any:
    """Return tqdm with a clock that starts at the first step."""

    class Bar(tqdm):  # type: ignore[misc]
        def update(self, amount: float = 1) -> Any:
            if not self.n:
                self.unpause()  # compiling before the first step says nothing about the others
            return super().update(amount)

    return Bar


class _Heartbeat:
    """Shows on a terminal, every second, that something is at work.

    Bars are drawn again, since their clocks go on while a step takes long; without a bar, there is
    a line with the name of the stage.
    """

    def __init__(self) -> None:
        self._bars: WeakSet[Any] = WeakSet()
        self._stages: list[str] = []
        self._line: Any = None
        self._end = threading.Event()
        self._lock = threading.RLock()

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        """Show a stage while the block runs, if it shows nothing itself."""
        self._stages.append(stage)
        if len(self._stages) == 1 and sys.stderr.isatty() and not _in_notebook():
            self._end = threading.Event()
            threading.Thread(target=self._beat, args=[self._end], daemon=True).start()
        try:
            yield
        finally:
            self._stages.remove(stage)
            if not self._stages:
                self.end()

    def add(self, bar: Any) -> None:
        """Draw this bar every second until it is closed."""
        with self._lock:
            self._bars.add(bar)

    def end(self) -> None:
        """Show nothing more, until another stage begins after all others have ended."""
        self._end.set()
        self.close_line()

    def close_line(self) -> None:
        """Remove the line with the name of the stage."""
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def _beat(self, end: threading.Event) -> None:
        from tqdm import tqdm

        while not end.wait(1):
            with self._lock, tqdm.get_lock():
                shown = [bar for bar in self._bars if not bar.disable]
                if shown or end.is_set():
                    for bar in shown:
                        bar.refresh(nolock=True)
                elif self._stages:
                    stage = self._stages[-1]
                    if self._line is None:
                        self._line = tqdm(
                            desc=stage, bar_format="{desc}: {elapsed}", leave=False, **_shape()
                        )
                    self._line.set_description_str(stage, refresh=False)
                    self._line.refresh(nolock=True)


_HEARTBEAT = _Heartbeat()
during, end_heartbeat = _HEARTBEAT.during, _HEARTBEAT.end


def announce(sentence: str) -> None:
    """Write a sentence to standard error, if progress bars are shown."""
    if _in_notebook() or sys.stderr.isatty():
        from tqdm import tqdm  # its `write` does not break a bar

        tqdm.write(sentence, file=sys.stderr)


def _in_notebook() -> bool:
    """Return whether this process is a Jupyter kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def text_table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return aligned columns, one line per row.

    >>> text_table([["king", "0.71"], ["a", "0.5"]])
    'king  0.71\na     0.5\n'
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except line feeds and tabs, line and paragraph separators, characters that
change the direction of writing, and halves of surrogate pairs."""


def printable(text: str, encoding: str | None) -> str:
    r"""Escape, as ``\u`` and a number, characters that are unsafe or can't be encoded.

    Valid JSON stays valid and means the same.

    >>> print(printable("a red \x1b[31mword, an é", "ascii"))
    a red \u001b[31mword, an \u00e9
    """
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    encoding = encoding or "utf-8"
    if not is_encodable(text, encoding):
        unknown = {ord(c): json.dumps(c)[1:-1] for c in set(text) if not is_encodable(c, encoding)}
        text = text.translate(unknown)
    return text


def is_encodable(text: str, encoding: str) -> bool:
    """Return whether an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


class Stopwatch:
    """Seconds by stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to stage `name`."""
        STAGES.info(name)
        start = time.perf_counter()
        try:
            with during(name):
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
