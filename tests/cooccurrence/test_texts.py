"""What is counted: the words of documents, and never the gaps between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus, Vocabulary


@pytest.mark.parametrize("size", [(1 << 16) - 1, 1 << 16, (1 << 16) + 1])
def test_gaps_between_documents_are_no_word_at_any_size(size: int) -> None:
    """A gap has the number after the last word's, which may need one more bit than words do."""
    dtype = np.uint16 if size <= 1 << 16 else np.uint32
    words = tuple(map(str, range(size)))
    tokens: Any = np.arange(size, dtype=dtype)
    corpus = Corpus(tokens, np.array([0, 3, size]), Vocabulary(words, np.ones(size, np.int64)))
    sums = Cooccurrence.count(corpus, window=2).symmetric.row_sums
    assert sums[:5].tolist() == [3, 4, 3, 3, 5]
    assert sums[-2:].tolist() == [5, 3]
