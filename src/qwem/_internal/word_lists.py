"""Lists of different words with their counts, in the order of their spelling: Arrow and Parquet.

A piece of text has hundreds of thousands of words. No Python string is made of any here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

WORDS_FILE = "words.parquet"


def list_schema() -> Any:
    """Return the columns of a list."""
    import pyarrow as pa

    return pa.schema([("word", pa.large_string()), ("count", pa.int64())])


def unpacked_words(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> Any:
    """Return an Arrow array of words, given their contiguous UTF-8 and where each ends."""
    import pyarrow as pa

    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))]
    return pa.Array.from_buffers(pa.large_string(), ends.size, buffers)


def packed_words(words: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the contiguous UTF-8 of the words of an Arrow array, and where each ends."""
    import pyarrow as pa

    array = pa.concat_arrays(words.chunks) if isinstance(words, pa.ChunkedArray) else words
    _, offsets, text = array.buffers()
    if not len(array):
        return np.empty(0, np.uint8), np.empty(0, np.int64)
    first, stop = array.offset, array.offset + len(array) + 1
    bounds = np.frombuffer(offsets, np.int64, stop)[first:]
    data = np.empty(0, np.uint8) if text is None else np.frombuffer(text, np.uint8)
    return data[bounds[0] : bounds[-1]], bounds[1:] - bounds[0]


def sorted_list(words: Any, counts: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
    """Return the words of an Arrow array that occur, as a list, and the place that each had."""
    import pyarrow as pa
    import pyarrow.compute as pc

    occurring = np.flatnonzero(counts)
    if occurring.size < counts.size:
        words = words.take(pa.array(occurring))
    order = pc.array_sort_indices(words)
    places = occurring[order.to_numpy()]
    table = pa.table([words.take(order), pa.array(counts[places])], schema=list_schema())
    return table, places


def write_list(file: Path, table: Any) -> None:
    """Write a list to a Parquet file."""
    import pyarrow.parquet as pq

    pq.write_table(table, file, use_dictionary=False)


def read_list(file: Path) -> Any:
    """Return the list in a Parquet file."""
    import pyarrow.parquet as pq

    return pq.read_table(file, schema=list_schema(), use_threads=False)
