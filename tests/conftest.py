"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from qwem._internal.resources import blas_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

# A kernel compiles in its first example, which takes seconds: a deadline would tell nothing.
hypothesis.settings.register_profile("qwem", deadline=None)
hypothesis.settings.load_profile("qwem")


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Keep BLAS from spinning for a core that another test has; small matrices need no more."""
    with blas_threads(1):
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real text and benchmark files, which are not part of the project."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    directory = Path(os.environ.get("QWEM_TEST_DATA", beside))
    if not directory.is_dir():
        pytest.skip(f"no test data at {directory}; set QWEM_TEST_DATA to where it is")
    return directory
