"""One cluster of two processes for all tests of the room that leave it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed", reason="needs Dask's distributed")
    from qwem.cluster import connected

    with connected(workers=2) as client:
        yield client
