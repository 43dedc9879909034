"""Every property is held against every solver."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qwem.spectrum import Method


@pytest.fixture(params=["lapack", "krylov"])
def method(request: pytest.FixtureRequest) -> Method:
    solver: Method = request.param
    return solver


@pytest.fixture(autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Keep BLAS from spinning for a core that another test has; small matrices need no more."""
    if find_spec("threadpoolctl") is None:
        yield
        return
    with import_module("threadpoolctl").threadpool_limits(1):
        yield
