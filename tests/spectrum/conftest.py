"""Every property is held against every solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


@pytest.fixture(params=["lapack", "krylov"])
def method(request: pytest.FixtureRequest) -> Method:
    solver: Method = request.param
    return solver
