"""Kernels are compiled wherever the disk is read-only, full or damaged; sparse products agree."""

from __future__ import annotations

import importlib
import logging
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numba.core import caching
from scipy import sparse

from qwem._internal import kernels
from qwem._internal.kernels import multiply, multiply_rows

if TYPE_CHECKING:
    from pathlib import Path


def double(x: int) -> int:
    return 2 * x


@pytest.fixture(autouse=True)
def _say_again() -> None:
    kernels._warn.cache_clear()
    kernels._announce.cache_clear()


def test_kernels_run_without_a_place_for_their_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    for _ in range(2):
        assert kernels.njit(cache=True)(double)(21) == 42
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
    compiled = kernels.njit(cache=True)(double)
    monkeypatch.setattr(compiled._cache, "_cache", Failing())
    assert compiled(21) == 42
    assert compiled.stats.cache_path == "somewhere"
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == [
        compilation_warning()
    ]


def test_compiled_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert kernels.njit(cache=True)(double)(21) == 42
    again = kernels.njit(cache=True)(double)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1


def compilation_warning() -> str:
    return (
        "Compiled code can't be kept on this disk, so every start takes some seconds longer; set "
        "NUMBA_CACHE_DIR to a directory that can be written."
    )


def test_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for x in (21, 21.0):
        assert kernels.njit(cache=True)(double)(x) == 42
    assert kernels.njit(cache=True)(double)(21) == 42
    assert capsys.readouterr().err.count("Compiling kernels") == 1


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A module with one function to compile, whose cache is empty."""
    source = "from qwem._internal.kernels import njit\n\n\n@njit(cache=True)\n"
    source += "def double(x):\n    return 2 * x\n"
    name = f"ahead_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(kernels, "thread_count", lambda: 2)
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("call", "elsewhere"),
    [
        pytest.param("double(1)", True, id="compiled"),
        pytest.param("double(1.0)", False, id="for another type"),
        pytest.param("no_such_name", False, id="failed"),
    ],
)
def test_another_process_can_compile(module: Any, call: str, elsewhere: bool) -> None:
    kernels.compile_ahead([module.double], f"import {module.__name__} as m; m.{call}")
    assert module.double(21) == 42
    assert sum(module.double.stats.cache_hits.values()) == elsewhere
    assert sum(module.double.stats.cache_misses.values()) == (not elsewhere)


def test_a_process_that_takes_too_long_is_ended(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_LONGEST", 0.1)
    kernels.compile_ahead([module.double], "import time; time.sleep(60)")
    compiler = module.double._cache._compiler
    assert module.double(21) == 42
    assert compiler.wait(10) != 0


def test_one_other_process_at_a_time_compiles(module: Any) -> None:
    kernels.compile_ahead([module.double], "import time; time.sleep(60)")
    first = module.double._cache._compiler
    kernels.compile_ahead([module.double], "pass")
    assert module.double._cache._compiler is first
    first.kill()
    first.wait()
    kernels.compile_ahead([module.double], f"import {module.__name__} as m; m.double(1)")
    assert module.double._cache._compiler is not first
    assert module.double(21) == 42
    assert sum(module.double.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("reason", ["compiled before", "one core", "no process"])
def test_nothing_is_waited_for(module: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def start(*arguments: Any, **options: Any) -> Any:
        started.append(arguments)
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("subprocess.Popen", start)
    if reason == "compiled before":
        module.double(1)
    elif reason == "one core":
        monkeypatch.setattr(kernels, "thread_count", lambda: 1)
    kernels.compile_ahead([module.double], "pass")
    assert len(started) == (reason == "no process")
    assert module.double._cache._compiler is None
    assert module.double(21) == 42


def test_a_product_over_several_ranges_of_rows_and_columns_is_exact() -> None:
    rng = np.random.default_rng(2)
    width = kernels._CACHED_ROWS + 9_000
    matrix = sparse.random_array((40, width), density=0.002, rng=rng, format="csr")
    block = rng.standard_normal((width, kernels.LANES + 3))
    np.testing.assert_allclose(multiply(matrix, block), matrix @ block, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_of_some_rows_is_those_rows_of_the_product(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.integers(0, 50, (9, 9)) * (rng.random((9, 9)) < 0.4)).astype(dtype)
    rows = sparse.csr_array(matrix)
    block = rng.standard_normal((9, 5)).astype(dtype)
    out = np.ones((6, 5), dtype)
    multiply_rows(rows.indptr[2:9], rows.indices, rows.data, block, out)
    plain = np.ones((6, 5))
    for i in range(6):
        for j in range(9):
            for column in range(5):
                plain[i, column] += matrix[i + 2, j] * block[j, column]
    np.testing.assert_allclose(out, plain, rtol=1e-4 if dtype == np.float32 else 1e-12)
