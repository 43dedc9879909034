"""Rows of counts in files: a shard's counts, sums of them, and blocks of their rows."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import CSR, check_csr, csr_arrays
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence._rows import Rows, row_ends
from qwem.cooccurrence.contexts import context_sides, slots_as_json, slots_from_json, window_kinds
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.passages import Passages
from qwem.corpus import Vocabulary

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cooccurrence import Slot

ROWS_KIND = "rows of counts"
_ROWS, _PASSAGES = "rows.safetensors", "passages"
_DIGESTS = f"{_PASSAGES}.digests"


class CountRows(NamedTuple):
    """A block of rows of counts, for every kind of context."""

    sides: tuple[sparse.csr_array[Any], ...]
    word_counts: NDArray[np.int64]
    slots: tuple[Slot, ...]
    passages: Passages | None = None
    """The passages in which these words occur, with a column for each word."""

    @property
    def symmetric(self) -> sparse.csr_array[Any]:
        """These rows of the symmetric counts: the sum over the kinds of context of the window."""
        size, columns = self.sides[0].shape
        rows = (Rows.of(self.sides[kind], 0, size) for kind in window_kinds(self.slots))
        return reduce(add, rows).tocsr(columns)


def save_rows(counts: Cooccurrence, output: str | os.PathLike[str]) -> None:
    """Save all rows of counts."""
    rows = CountRows(context_sides(counts), counts.word_counts, counts.slots, counts.passages)
    _write(output, rows, 0, list(counts.sources))


def add_rows(
    paths: Sequence[str | os.PathLike[str]], first: int, last: int, output: str | os.PathLike[str]
) -> None:
    """Add saved rows, and save rows `first` to `last` of the sum."""
    _write(output, saved_rows(paths, first, last), first, saved_sources(paths)[1])


def saved_rows(paths: Sequence[str | os.PathLike[str]], first: int, last: int) -> CountRows:
    """Return rows `first` to `last` of the sum of saved rows, reading only these."""
    parts = [
        artefact.load(path, ROWS_KIND, lambda saved: _read(saved, first, last)) for path in paths
    ]
    columns = parts[0].sides[0].shape[1]
    sides = tuple(
        reduce(add, (Rows.of(side, 0, last - first) for side in each)).tocsr(columns)
        for each in zip(*(part.sides for part in parts), strict=True)
    )
    word_counts = np.sum([part.word_counts for part in parts], axis=0)
    passages = [part.passages for part in parts if part.passages is not None]
    return CountRows(
        sides, word_counts, parts[0].slots, Passages.sum(passages) if passages else None
    )


def saved_digests(paths: Iterable[Path]) -> NDArray[np.uint64]:
    """Return the digests of all passages of saved rows, in order."""
    found = [artefact.opened(path).mapped_arrays(_ROWS).get(_DIGESTS) for path in paths]
    return np.unique(np.concatenate([each for each in found if each is not None]))


def saved_passages(paths: Iterable[Path], digests: NDArray[np.uint64], size: int) -> Passages:
    """Return the passages with these digests, with a column for each of `size` words.

    They are the sum over saved rows, of all words or of some of them.
    """
    parts, places = [], []
    for path in paths:
        saved = artefact.opened(path)
        passages = _passages(saved)
        assert passages is not None
        parts.append(passages.select(digests))
        places.append(saved.metadata["first"] + np.arange(passages.matrix.shape[1]))
    return Passages.sum(parts, places, size)


def counts_of_rows(
    parts: Sequence[CountRows],
    words: Sequence[str],
    slots: tuple[Slot, ...],
    sources: Sequence[dict[str, Any]],
) -> Cooccurrence:
    """Return counts made of consecutive blocks of rows."""
    occurrences = np.concatenate([part.word_counts for part in parts])
    own = np.cumsum([0, *(slot.contexts for slot in slots)])[:-1]  # the sides of words after
    words_of = np.split(
        np.arange(len(words)), np.cumsum([len(part.word_counts) for part in parts])[:-1]
    )
    passages = [part.passages for part in parts if part.passages is not None]
    return Cooccurrence(
        Vocabulary(tuple(words), occurrences),
        tuple(
            PairCounts.from_exact(sparse.vstack([part.sides[side] for part in parts], "csr"))
            for side in own
        ),
        slots,
        tuple(sources),
        Passages.sum(passages, words_of, len(words)) if passages else None,
    )


def saved_sources(
    paths: Sequence[str | os.PathLike[str]],
) -> tuple[tuple[Slot, ...], list[dict[str, Any]]]:
    """Return the slots of saved rows, and all their sources."""
    saved = [artefact.opened(path).metadata for path in paths]
    return slots_from_json(saved[0]["slots"]), [
        source for each in saved for source in each["sources"]
    ]


def _write(
    output: str | os.PathLike[str], rows: CountRows, first: int, sources: list[dict[str, Any]]
) -> None:
    arrays = {"word_counts": rows.word_counts}
    for number, side in enumerate(rows.sides):
        arrays |= csr_arrays(side, str(number))
    fields: dict[str, Any] = {
        "first": first,
        "columns": rows.sides[0].shape[1],
        "slots": slots_as_json(rows.slots),
        "sources": sources,
    }
    if rows.passages is not None:
        arrays |= rows.passages.arrays(_PASSAGES)
        fields[_PASSAGES] = rows.passages.settings
    with artefact.writing(output, ROWS_KIND) as directory:
        artefact.write_arrays(directory / _ROWS, arrays)
        artefact.write_metadata(directory, ROWS_KIND, fields)


def _read(saved: artefact.Saved, first: int, last: int) -> CountRows:
    """Return some of the rows in a file."""
    arrays, metadata = saved.mapped_arrays(_ROWS), saved.metadata
    columns, skipped = int(metadata["columns"]), int(metadata["first"])
    rows, sides = slice(first - skipped, last - skipped), []
    if not 0 <= rows.start <= rows.stop <= len(arrays["word_counts"]):
        raise ValueError(f"it does not have the rows from {first} to {last}")
    slots = slots_from_json(metadata["slots"])
    for number in range(sum(slot.contexts for slot in slots)):
        indptr, indices, data = (arrays[f"{number}.{part}"] for part in CSR)
        ends = indptr[rows.start : rows.stop + 1]
        stored = slice(int(ends[0]), int(ends[-1]))
        parts = np.array(data[stored]), np.array(indices[stored]), row_ends(np.diff(ends))
        check_csr(*parts, last - first, columns)
        sides.append(sparse.csr_array(parts, shape=(last - first, columns)))
    passages = _passages(saved)
    if passages is not None:
        places = np.arange(passages.matrix.shape[1]) - rows.start
        outside = (places < 0) | (places >= last - first)
        passages = passages.reindex(np.where(outside, -1, places), last - first)
    return CountRows(tuple(sides), np.array(arrays["word_counts"][rows]), slots, passages)


def _passages(saved: artefact.Saved) -> Passages | None:
    """Return the passages of saved rows, with a column for each word of the rows."""
    if _PASSAGES not in saved.metadata:
        return None
    arrays = saved.mapped_arrays(_ROWS)
    words = len(arrays["word_counts"])
    return Passages.read(arrays, _PASSAGES, words, **saved.metadata[_PASSAGES])
