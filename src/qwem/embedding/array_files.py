"""Files of vectors: NumPy, safetensors, Parquet, and text with a column per dimension."""

from __future__ import annotations

import json
import math
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from qwem._internal.files import writing_file
from qwem._internal.resources import require_memory
from qwem._internal.results import one_line
from qwem.embedding.embedding import check_words, stored_vectors
from qwem.embedding.word2vec_files import Contents, reading
from qwem.errors import DataError, QwemError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import BinaryIO

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding, StoredType

_ZIP_MAGIC = b"PK"
_BLOCK_BYTES = 1 << 26
"""The most bytes that a row of a text table may have."""
_NAMES = ("words", "vectors", "vectors_scale")


def write_npz(embedding: Embedding, path: str | os.PathLike[str], dtype: StoredType) -> None:
    """Write the arrays `words` and `vectors`, without pickle, for `numpy.load`."""
    check_words(embedding, "", "a NumPy file")
    words = np.array(embedding.index_to_key)
    if tuple(words.tolist()) != embedding.index_to_key:
        raise SettingError("A word ends in a NUL character, which NumPy drops; rename or drop it.")
    arrays: dict[str, Any] = stored_vectors(embedding.vectors, dtype)
    with writing_file(path) as file:
        np.savez(file, words=words, **arrays)


def write_npy(embedding: Embedding, path: str | os.PathLike[str], dtype: StoredType) -> None:
    """Write the vectors as a .npy file, and after them the words, one per line.

    `numpy.load` reads the vectors and ignores what follows, so one file holds both.
    """
    check_words(embedding, "\n", "a list of one word per line")
    with writing_file(path) as file:
        np.save(file, stored_vectors(embedding.vectors, dtype)["vectors"])
        file.write("".join(f"{word}\n" for word in embedding).encode())


def read_npz(path: str | os.PathLike[str], file: BinaryIO) -> Contents:
    """Read a file that `write_npz` wrote, or any .npz file with `words` and `vectors`."""
    arrays = _load_arrays(path, file)
    if not isinstance(arrays, dict) or not {"words", "vectors"} <= set(arrays):
        raise DataError(f"{path} needs two arrays named words and vectors.")
    words = arrays["words"]
    if words.dtype.kind != "U" or words.ndim != 1:
        raise DataError(f"{path}: words must be a row of strings, not {words.dtype} {words.shape}.")
    return Contents(words.tolist(), arrays)


def read_npy(path: str | os.PathLike[str], file: BinaryIO) -> Contents:
    """Read a file that `write_npy` wrote, or any .npy file with its words in ``….words.txt``."""
    vectors = _load_arrays(path, file)
    if isinstance(vectors, dict):
        raise DataError(f"{path} is an archive of arrays; read it with format='npz'.")
    source, text = Path(path), file.read()
    if not text:
        source = source.with_suffix(".words.txt")
        with reading(source) as beside:
            text = beside.read()
    try:
        words = text.decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise DataError(f"The words in {source} are not UTF-8 ({error}).") from error
    return Contents(words, {"vectors": vectors})


def _load_arrays(
    path: str | os.PathLike[str], file: BinaryIO
) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """Return the array of an open .npy file, or the arrays of a .npz file that we need.

    An array that is larger than its file or than memory is refused before it is read.
    """
    try:
        archive = file.read(2) == _ZIP_MAGIC
        file.seek(0)
        if archive:
            with zipfile.ZipFile(file) as members:
                return _load_members(path, members)
        _require(path, _bytes_of_array(file))
        file.seek(0)
        array: NDArray[Any] = np.load(file, allow_pickle=False)
    except (QwemError, MemoryError, OSError):
        raise
    except Exception as error:  # NumPy and zipfile raise many kinds for a damaged file
        raise DataError(f"{path} is damaged or pickled ({error}); make it again.") from error
    return array


def _load_members(
    path: str | os.PathLike[str], members: zipfile.ZipFile
) -> dict[str, NDArray[Any]]:
    present = {name: f"{name}.npy" for name in _NAMES if f"{name}.npy" in members.namelist()}
    _require(path, sum(members.getinfo(member).file_size for member in present.values()))
    arrays = {}
    for name, member in present.items():
        with members.open(member) as file:
            if _bytes_of_array(file) > members.getinfo(member).file_size:
                raise ValueError(f"{name} is cut short")
        with members.open(member) as file:
            arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays


def _bytes_of_array(file: IO[bytes]) -> int:
    """Return the size in bytes that the header of a .npy file states."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    return math.prod(shape) * int(dtype.itemsize)


def _require(path: str | os.PathLike[str], size: int) -> None:
    require_memory(size, f"Reading {path}", "make a smaller file, or use a larger machine")


def write_safetensors(
    embedding: Embedding, path: str | os.PathLike[str], dtype: StoredType
) -> None:
    """Write the tensor `vectors`, and the words as a JSON list in the metadata `words`."""
    from safetensors.numpy import save

    check_words(embedding, "", "a safetensors file")
    words = json.dumps(embedding.index_to_key, ensure_ascii=False)
    with writing_file(path) as file:
        file.write(save(stored_vectors(embedding.vectors, dtype), metadata={"words": words}))


def read_safetensors(path: str | os.PathLike[str], _: BinaryIO) -> Contents:
    """Read a file that `write_safetensors` wrote; its library opens it by its path."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            if "vectors" not in file.keys() or "words" not in (file.metadata() or {}):  # noqa: SIM118
                raise DataError(f"{path} needs the tensor vectors, and words in its metadata.")
            arrays = {name: file.get_tensor(name) for name in _NAMES if name in file.keys()}  # noqa: SIM118
            words = json.loads(file.metadata()["words"])
    except (SafetensorError, ValueError) as error:
        raise DataError(f"{path} is damaged ({error}); make it again.") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError(f"{path}: the words in its metadata must be a JSON list of strings.")
    return Contents(words, arrays)


def write_parquet(embedding: Embedding, path: str | os.PathLike[str], dtype: StoredType) -> None:
    """Write the columns `word`, `count` (if counts are known) and `vector`."""
    from pyarrow import parquet

    check_words(embedding, "", "a Parquet file")
    numbers = pa.array(stored_vectors(embedding.vectors, dtype)["vectors"].ravel())
    columns: dict[str, Any] = {"word": pa.array(embedding.index_to_key, pa.string())}
    if embedding.vocabulary.counts.any():
        columns["count"] = pa.array(embedding.vocabulary.counts)
    columns["vector"] = pa.FixedSizeListArray.from_arrays(numbers, embedding.vector_size)
    with writing_file(path) as file:
        parquet.write_table(pa.table(columns), file)


def read_parquet(path: str | os.PathLike[str], file: BinaryIO) -> Contents:
    """Read a Parquet file with a column of words and one of vectors of equal length."""
    from pyarrow import parquet

    try:
        table = parquet.read_table(file, columns=["word", "vector"])
        words = table["word"].cast(pa.string()).to_pylist()
        lists = table["vector"].combine_chunks()
        numbers = np.asarray(lists.flatten()) if len(table) else np.empty(0)
    except (pa.ArrowException, KeyError, AttributeError, ValueError) as error:
        raise DataError(
            f"{path} needs a column of strings named word and one of lists named vector; if it has "
            "text, learn vectors from it first, with qwem.fit or qwem fit."
        ) from error
    if not words or None in words or len(numbers) % len(words):
        raise DataError(f"{path} needs one vector of the same length for every word.")
    return Contents(words, {"vectors": numbers.reshape(len(words), -1)})


def write_delimited(
    embedding: Embedding, path: str | os.PathLike[str], _: StoredType, *, delimiter: str
) -> None:
    """Write a header, and a line per word: the word, and its numbers in a column each."""
    from pyarrow import csv

    check_words(embedding, "\r\n", "a table with a line per word")
    names = ["word", *map(str, range(1, embedding.vector_size + 1))]
    columns = [pa.array(embedding.index_to_key, pa.string()), *map(pa.array, embedding.vectors.T)]
    with writing_file(path) as file:
        csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(delimiter=delimiter))


def read_delimited(path: str | os.PathLike[str], file: BinaryIO, *, delimiter: str) -> Contents:
    """Read a table with a header whose first column has words and the others numbers."""
    from pyarrow import csv

    layout = csv.ParseOptions(delimiter=delimiter)
    convert = csv.ConvertOptions(strings_can_be_null=False, quoted_strings_can_be_null=False)
    try:
        header = next(csv.open_csv(path, parse_options=layout))
        convert.column_types = {
            name: pa.float32() if place else pa.string()
            for place, name in enumerate(header.schema.names)
        }
        table = csv.read_csv(file, csv.ReadOptions(block_size=_BLOCK_BYTES), layout, convert)
    except (pa.ArrowException, StopIteration) as error:
        raise DataError(
            f"{path} needs a header, and a word and equally many numbers on each line "
            f"({one_line(str(error))})."
        ) from error
    vectors = np.stack([np.asarray(column) for column in table.columns[1:]], axis=1)
    return Contents(table[0].to_pylist(), {"vectors": vectors})


READERS: dict[str, Callable[[Any, BinaryIO], Contents]] = {
    "npz": read_npz,
    "npy": read_npy,
    "safetensors": read_safetensors,
    "parquet": read_parquet,
    "tsv": partial(read_delimited, delimiter="\t"),
    "csv": partial(read_delimited, delimiter=","),
}
WRITERS: dict[str, Callable[[Embedding, Any, StoredType], None]] = {
    "npz": write_npz,
    "npy": write_npy,
    "safetensors": write_safetensors,
    "parquet": write_parquet,
    "tsv": partial(write_delimited, delimiter="\t"),
    "csv": partial(write_delimited, delimiter=","),
}
STORED: dict[str, tuple[StoredType, ...]] = {
    "npz": ("float32", "float16", "int8"),
    "npy": ("float32", "float16"),
    "safetensors": ("float32", "float16", "int8"),
    "parquet": ("float32", "float16"),
}
"""The number formats that each file format can store; the others have float32 only."""
