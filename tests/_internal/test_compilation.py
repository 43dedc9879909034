"""Kernels work wherever compiled code can't be kept, and say so once."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from numba.core import caching

from qwem._internal import compilation


def double(x: int) -> int:
    return 2 * x


@pytest.fixture(autouse=True)
def _say_again() -> None:
    compilation._warn.cache_clear()
    compilation._announce.cache_clear()


def test_no_place_for_the_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    for _ in range(2):
        assert compilation.njit(cache=True)(double)(21) == 42
    assert caplog.messages == [compilation_warning()]


class Failing:
    """A cache whose disk is full and whose files are damaged."""

    cache_path = "somewhere"

    def load_overload(self, signature: Any, context: Any) -> Any:
        raise EOFError

    def save_overload(self, signature: Any, compiled: Any) -> None:
        raise OSError(28, "No space left on device")


def test_a_cache_that_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compiled = compilation.njit(cache=True)(double)
    monkeypatch.setattr(compiled._cache, "_cache", Failing())
    assert compiled(21) == 42
    assert compiled.stats.cache_path == "somewhere"
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == [
        compilation_warning()
    ]


def test_compiled_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert compilation.njit(cache=True)(double)(21) == 42
    again = compilation.njit(cache=True)(double)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1


def compilation_warning() -> str:
    return (
        "Compiled code can't be kept on this disk, so every start takes some seconds longer; set "
        "NUMBA_CACHE_DIR to a directory that can be written."
    )


def test_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    caplog.set_level(logging.INFO, "qwem.stages")
    for x in (21, 21.0):
        assert compilation.njit(cache=True)(double)(x) == 42
    assert compilation.njit(cache=True)(double)(21) == 42
    assert caplog.messages == ["compile"]
