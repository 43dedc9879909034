"""Threads and memory are bounded, what would not fit is refused, and text is safe to print."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import types
from contextlib import suppress
from typing import Any, ClassVar

import pytest

from in_threads import in_threads
from qwem._internal import resources
from qwem._internal.resources import (
    available_memory,
    peak_memory,
    printable,
    require_memory,
    thread_count,
)
from qwem.errors import MemoryLimitError, SettingError


def test_all_cores_are_used_where_affinity_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert thread_count() == 7
    assert in_threads(3, thread_count) == 3


def test_threads_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    for count in (0, 10**20):
        with pytest.raises(SettingError, match=f"from 1 to 1,000,000, not {count}"):
            in_threads(count, thread_count)
    resources._warn_too_many.cache_clear()
    most = in_threads(1_000_000, thread_count)
    assert 32 <= most < 1_000_000
    assert "1000000 threads are too many" in caplog.text
    caplog.clear()
    assert in_threads(1_000_000, thread_count) == in_threads(most, thread_count) == most
    assert caplog.text == ""


def test_memory_is_checked_before_work_starts() -> None:
    require_memory(1, "This", "use less")
    with pytest.raises(MemoryLimitError, match=r"^This would need 1000000\.0 GB of memory and"):
        require_memory(10**15, "This", "use less")
    assert 0 < available_memory() < 10**15
    assert peak_memory() > 10**6


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't enforce the limit")
def test_memory_is_bounded_by_the_limit_of_the_process() -> None:
    program = (
        "import psutil, resource; from qwem._internal.resources import available_memory\n"
        "limit = psutil.Process().memory_info().vms + (300 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "assert available_memory() <= 300 << 20"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep less")
def test_freed_memory_is_returned() -> None:
    program = (
        "import psutil; from qwem._internal.resources import return_freed_memory\n"
        "import ctypes; resident = lambda: psutil.Process().memory_info().rss\n"
        "blocks = [ctypes.create_string_buffer(100_000) for _ in range(1000)]\n"
        "for block in blocks: ctypes.memset(block, 1, 100_000)\n"
        "blocks = blocks[-1:]  # the last one keeps the heap from shrinking by itself\n"
        "before = resident(); return_freed_memory()\n"
        "assert before - resident() > 50_000_000, (before, resident())"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class Kernel:
    """What `get_ipython` returns in a notebook."""

    config: ClassVar[dict[str, object]] = {"IPKernelApp": {}}


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("IPython")
    module.get_ipython = Kernel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)


@pytest.mark.usefixtures("notebook")
def test_a_notebook_shows_bars_and_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    with resources.progress("count", total=2) as bar:
        bar.update()
    resources.announce("Compiling.")
    shown = capsys.readouterr().err
    assert "count" in shown
    assert "Compiling." in shown


def test_bars_leave_no_threads_behind() -> None:
    def bars(count: int) -> int:
        for _ in range(count):
            with resources.progress("count", total=1) as bar:
                bar.update()
        return threading.active_count()

    assert bars(1) == bars(20)


def test_a_log_file_shows_no_bars(capsys: pytest.CaptureFixture[str]) -> None:
    with resources.progress("count", total=2) as bar:
        bar.update()
    resources.announce("Compiling.")
    assert capsys.readouterr().err == ""


def test_bars_are_switched_off_as_those_of_tqdm_are() -> None:
    program = (
        "import sys; sys.stderr.isatty = lambda: True\n"
        "from qwem._internal.resources import progress\n"
        "with progress('count', total=2) as bar: bar.update()"
    )
    for switch, shown in (("0", True), ("1", False)):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "TQDM_DISABLE": switch} if switch == "1" else None,
        )
        assert ("count" in done.stderr) == shown, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_is_never_silent() -> None:
    """Two terminals at the same time, one of some size and one of unknown size."""
    import pty
    import termios

    program = (
        "import time; from qwem._internal.resources import Stopwatch, progress\n"
        "with Stopwatch().stage('target'):\n"
        "    time.sleep(1.5)\n"
        "    with progress('counting', total=2) as bar: time.sleep(2.5)\n"
        "time.sleep(1.5)"
    )
    started = []
    for size in ((24, 80), (0, 0)):
        terminal, other_end = pty.openpty()
        termios.tcsetwinsize(other_end, size)
        process = subprocess.Popen([sys.executable, "-c", program], stderr=other_end)
        os.close(other_end)
        started.append((size, terminal, process))
    for size, terminal, process in started:
        shown = b""
        with suppress(OSError):  # the end of a terminal is an error on Linux
            while some := os.read(terminal, 1024):
                shown += some
        os.close(terminal)
        assert process.wait() == 0, size
        assert shown.count(b"target: 00:0") >= 1, size
        assert b"00:01<?" in shown, size
        assert shown.endswith(b"\r"), size


def test_what_was_compiled_before_the_first_step_says_nothing_about_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with resources.progress("polish", total=100) as bar:
        shown: Any = bar
        shown.start_t -= 1000
        shown.last_print_t -= 1000
        bar.update()
        assert shown.format_dict["elapsed"] < 100


@pytest.mark.parametrize("word", ["\x1b[2J", "\x9b31m", "\r", "\x7f", "\u202e", "\ud800", "\u2028"])
def test_unsafe_characters_are_escaped(word: str) -> None:
    shown = printable(f"a{word}b\tc\n", "utf-8")
    assert shown.isascii()
    assert shown.endswith("b\tc\n")
    assert f"\\u{ord(word[0]):04x}" in shown


def test_ordinary_words_stay() -> None:
    text = "naïve 東京 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩‍🚀\n"
    assert printable(text, "utf-8") == text
    assert printable(text, None) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_what_the_terminal_can_not_encode_is_escaped(encoding: str) -> None:
    data = {"word": "naïve 東京 👩‍🚀 \x9b \ud800"}
    shown = printable(json.dumps(data, ensure_ascii=False), encoding)
    shown.encode(encoding)
    assert json.loads(shown) == data
