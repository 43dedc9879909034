"""Vectors as NumPy files: a .npz of words and vectors, or a .npy that ends with the words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.files import writing_file
from qwem.embedding.formats.files import assemble, reading
from qwem.embedding.formats.numpy_files import load_arrays
from qwem.embedding.storage import check_words
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding


def write_npz(embedding: Embedding, path: str | os.PathLike[str]) -> None:
    """Write the arrays `words` and `vectors`, without pickle, for `numpy.load`."""
    check_words(embedding, "", "a NumPy file")
    words = np.array(embedding.index_to_key)
    if tuple(words.tolist()) != embedding.index_to_key:
        raise SettingError("A word ends in a NUL character, which NumPy drops; rename or drop it.")
    with writing_file(path) as file:
        np.savez(file, words=words, vectors=embedding.vectors)


def write_npy(embedding: Embedding, path: str | os.PathLike[str]) -> None:
    """Write the vectors as a .npy file, and after them the words, one per line.

    `numpy.load` reads the vectors and passes over what follows, so that one file holds both.
    """
    check_words(embedding, "\n", "a list of one word per line")
    with writing_file(path) as file:
        np.save(file, embedding.vectors)
        file.write("".join(f"{word}\n" for word in embedding).encode())


def read_npz(path: str | os.PathLike[str]) -> Embedding:
    """Read a file that `write_npz` wrote, or any .npz file with `words` and `vectors`."""
    with reading(path) as file:
        arrays = load_arrays(path, file)
    if not isinstance(arrays, dict) or not {"words", "vectors"} <= set(arrays):
        raise DataError(f"{path} needs two arrays named words and vectors.")
    words = arrays["words"]
    if words.dtype.kind != "U" or words.ndim != 1:
        raise DataError(f"{path}: words must be a row of strings, not {words.dtype} {words.shape}.")
    return checked(path, "npz", words.tolist(), arrays["vectors"])


def read_npy(path: str | os.PathLike[str]) -> Embedding:
    """Read a file that `write_npy` wrote, or any .npy file with the words in `words_file(path)`."""
    with reading(path) as file:
        vectors = load_arrays(path, file)
        if isinstance(vectors, dict):
            raise DataError(f"{path} is an archive of arrays; read it with format='npz'.")
        text = file.read()
    source = Path(path)
    if not text:
        source = words_file(path)
        with reading(source) as file:
            text = file.read()
    try:
        words = text.decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise DataError(f"The words in {source} are not UTF-8 ({error}).") from error
    return checked(path, "npy", words, vectors)


def words_file(path: str | os.PathLike[str]) -> Path:
    """Return the text file of words beside a .npy file: ``v.words.txt`` for ``v.npy``."""
    return Path(path).with_suffix(".words.txt")


def checked(path: Any, file_format: str, words: list[str], vectors: NDArray[Any]) -> Embedding:
    """Return the embedding of a file, after checking that it has one row of numbers per word."""
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or len(vectors) != len(words):
        raise DataError(
            f"{path} has {len(words):,} words and {vectors.dtype} vectors of shape "
            f"{vectors.shape}; it needs one row of numbers per word."
        )
    return assemble(path, file_format, words, vectors.astype(np.float32, copy=False))
