"""What the tests of this room share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qwem import fit

if TYPE_CHECKING:
    from qwem import Corpus, Embedding


@pytest.fixture(scope="session")
def text_embedding(text_corpus: Corpus) -> Embedding:
    """Closed-form embedding of a text."""
    return fit(text_corpus, preset="paper", dim=100).embedding()
