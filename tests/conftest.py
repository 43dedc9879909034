"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real text and benchmark files, which are not part of the project."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    directory = Path(os.environ.get("QWEM_TEST_DATA", beside))
    if not directory.is_dir():
        pytest.skip(f"no test data at {directory}; set QWEM_TEST_DATA to where it is")
    return directory
