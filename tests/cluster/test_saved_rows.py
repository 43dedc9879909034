"""Rows of counts in files: added and read a few at a time, they are those of the whole counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus
from qwem.cluster._saved_rows import (
    add_rows,
    counts_of_rows,
    save_rows,
    saved_rows,
    saved_sources,
)
from qwem.cooccurrence import context_matrix
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [f"w{i:02}" for i in range(30)]


def parts_of(layout: str, length: int) -> list[Cooccurrence]:
    rng = np.random.default_rng(length)
    documents = [list(map(str, rng.choice(WORDS, length))) for _ in range(3)]
    corpus = Corpus.from_documents([*documents, WORDS])
    return [
        Cooccurrence.count(corpus.documents(start, start + 1), 3, slots=layout)
        for start in range(4)
    ]


@pytest.mark.parametrize("layout", ["symmetric", "sides", "bigrams"])
@pytest.mark.parametrize("length", [20, 2000], ids=["sparse", "dense"])
def test_rows_are_added_as_whole_counts_are(layout: str, length: int, tmp_path: Path) -> None:
    """From files of all rows, from rows that were added before, and from both."""
    parts = parts_of(layout, length)
    paths = [tmp_path / str(number) for number in range(4)]
    for part, path in zip(parts, paths, strict=True):
        save_rows(part, path)
    expected = Cooccurrence.merge(parts)
    contexts: Any = context_matrix(expected).toarray()
    width = expected.contexts_per_word
    for first, last in ((0, 30), (7, 19), (29, 30), (5, 5)):
        some = tmp_path / f"{first}-{last}"
        add_rows(paths[:2], first, last, some)
        found = saved_rows([some, *paths[2:]], first, last)
        for side, rows in enumerate(found.sides):
            assert np.array_equal(rows.toarray(), contexts[first:last, side::width])
        whole: Any = expected.symmetric.toarray()
        assert np.array_equal(found.symmetric.toarray(), whole[first:last])
        assert np.array_equal(found.word_counts, expected.word_counts[first:last])
        assert saved_sources([some, *paths[2:]]) == (expected.slots, list(expected.sources))
    runs = ((0, 4), (4, 4), (4, 30))
    joined = counts_of_rows(
        [saved_rows(paths, *run) for run in runs], expected.vocabulary.words, *saved_sources(paths)
    )
    assert joined == expected
    assert joined.sources == expected.sources


def test_rows_that_a_file_lacks_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    (part, *_) = parts_of("sides", 20)
    save_rows(part, tmp_path / "all")
    add_rows([tmp_path / "all"], 3, 9, tmp_path / "some")
    with pytest.raises(ArtefactError, match="does not have the rows from 2 to 5"):
        saved_rows([tmp_path / "some"], 2, 5)
    file = tmp_path / "some" / "rows.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x07")
    with pytest.raises(ArtefactError, match=r"rows\.safetensors is damaged"):
        saved_rows([tmp_path / "some"], 3, 9)
