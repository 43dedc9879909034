"""What the tests of this room share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qwem import Corpus, fit

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Embedding


@pytest.fixture(scope="session")
def real_embedding(real_data: Path) -> Embedding:
    """A closed-form embedding of two million words of Wikipedia."""
    corpus = Corpus.from_files(real_data / "enwiki-2M.parquet", vocab_size=3_000)
    model = fit(corpus, preset="paper", dim=100)
    return model.embedding()
