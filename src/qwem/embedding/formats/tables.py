"""Vectors as tables: Parquet with a column of vectors, and text with a column per dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from qwem._internal.files import writing_file
from qwem.embedding.formats.arrays import checked
from qwem.embedding.storage import check_words
from qwem.errors import DataError

if TYPE_CHECKING:
    import os

    from qwem.embedding.embedding import Embedding

_BLOCK_BYTES = 1 << 26
"""A row of a text table must fit into this."""


def write_parquet(embedding: Embedding, path: str | os.PathLike[str]) -> None:
    """Write the columns ``word`` and ``vector``, and ``count`` where counts are known."""
    from pyarrow import parquet

    check_words(embedding, "", "a Parquet file")
    numbers = pa.array(embedding.vectors.ravel())
    columns: dict[str, Any] = {"word": pa.array(embedding.index_to_key, pa.string())}
    if embedding.vocabulary.counts.any():
        columns["count"] = pa.array(embedding.vocabulary.counts)
    columns["vector"] = pa.FixedSizeListArray.from_arrays(numbers, embedding.vector_size)
    with writing_file(path) as file:
        parquet.write_table(pa.table(columns), file)


def read_parquet(path: str | os.PathLike[str]) -> Embedding:
    """Read a Parquet file with a column of words and one of vectors of equal length."""
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, columns=["word", "vector"])
        words = table["word"].cast(pa.string()).to_pylist()
        lists = table["vector"].combine_chunks()
        numbers = np.asarray(lists.flatten()) if len(table) else np.empty(0)
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}.") from error
    except (pa.ArrowException, KeyError, AttributeError, ValueError) as error:
        raise DataError(
            f"{path} needs a column of strings named word and one of lists named vector ({error})."
        ) from error
    if not words or None in words or len(numbers) % len(words):
        raise DataError(f"{path} needs one vector of the same length for every word.")
    return checked(path, "parquet", words, numbers.reshape(len(words), -1))


def write_delimited(embedding: Embedding, path: str | os.PathLike[str], delimiter: str) -> None:
    """Write a header and a line per word: the word, then its numbers, each in a column."""
    from pyarrow import csv

    check_words(embedding, "\r\n", "a table with a line per word")
    names = ["word", *map(str, range(1, embedding.vector_size + 1))]
    columns = [pa.array(embedding.index_to_key, pa.string()), *map(pa.array, embedding.vectors.T)]
    with writing_file(path) as file:
        csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(delimiter=delimiter))


def read_delimited(path: str | os.PathLike[str], delimiter: str) -> Embedding:
    """Read a table with a header whose first column has words and the others numbers."""
    from pyarrow import csv

    convert = csv.ConvertOptions(strings_can_be_null=False, quoted_strings_can_be_null=False)
    try:
        with open(path, "rb") as file:
            header = next(csv.open_csv(file, parse_options=csv.ParseOptions(delimiter=delimiter)))
            convert.column_types = {
                name: pa.float32() if place else pa.string()
                for place, name in enumerate(header.schema.names)
            }
        table = csv.read_csv(
            path,
            csv.ReadOptions(block_size=_BLOCK_BYTES),
            csv.ParseOptions(delimiter=delimiter),
            convert,
        )
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}.") from error
    except (pa.ArrowException, StopIteration) as error:
        raise DataError(
            f"{path} needs a header, and on each line a word and as many numbers ({error})."
        ) from error
    vectors = np.stack([np.asarray(column) for column in table.columns[1:]], axis=1)
    return checked(path, "tsv" if delimiter == "\t" else "csv", table[0].to_pylist(), vectors)
