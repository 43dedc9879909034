"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# A kernel compiles in its first example, which takes seconds: a deadline would tell nothing.
hypothesis.settings.register_profile("qwem", deadline=None)
hypothesis.settings.load_profile("qwem")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real text and benchmark files, which are not part of the project."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    directory = Path(os.environ.get("QWEM_TEST_DATA", beside))
    if not directory.is_dir():
        pytest.skip(f"no test data at {directory}; set QWEM_TEST_DATA to where it is")
    return directory
