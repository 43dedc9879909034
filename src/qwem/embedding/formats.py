"""Reading and writing vectors in the formats of other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from qwem.embedding import array_files, word2vec_files
from qwem.embedding.embedding import Embedding
from qwem.errors import SettingError

if TYPE_CHECKING:
    from qwem.embedding.embedding import StoredType

Format = Literal[
    "word2vec", "word2vec-binary", "glove", "npz", "npy", "safetensors", "parquet", "tsv", "csv"
]

_SUFFIXES: dict[str, Format] = {
    ".bin": "word2vec-binary",
    ".npz": "npz",
    ".npy": "npy",
    ".safetensors": "safetensors",
    ".parquet": "parquet",
    ".tsv": "tsv",
    ".csv": "csv",
}
"""Formats by the extension of a file."""
_UNCOMPRESSED = tuple(dict.fromkeys(_SUFFIXES.values()))[1:]
_DELIMITERS = {"tsv": "\t", "csv": ","}
_PICKLES = (".kv", ".model", ".pkl", ".pickle")


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format for a file of this name.

    >>> format_of("v.npz"), format_of("v.bin.gz"), format_of("v.txt")
    ('npz', 'word2vec-binary', 'word2vec')
    """
    if Path(path).suffix in _PICKLES:
        raise SettingError(
            f"{path} would be a pickle, which qwem neither reads nor writes, because loading one "
            "can run code; write .bin, which gensim's KeyedVectors.load_word2vec_format reads, or "
            "save what Embedding.to_gensim() returns."
        )
    return _SUFFIXES.get(Path(os.fspath(path).removesuffix(".gz")).suffix, "word2vec")


def write_vectors(
    embedding: Embedding,
    path: str | os.PathLike[str],
    format: Format | None = None,  # noqa: A002
    *,
    dtype: StoredType = "float32",
) -> None:
    """Write words and vectors in a format that other programs read.

    Parameters
    ----------
    embedding
        What to write.
    path
        The file. A name that ends in ``.gz`` compresses the word2vec and GloVe formats. The file is
        written whole or not at all.
    format
        ``word2vec`` (text), ``word2vec-binary``, ``glove`` (text without a header), ``npz``
        (arrays ``words`` and ``vectors``), ``npy`` (the vectors, followed by the words, which NumPy
        ignores), ``safetensors`` (the tensor ``vectors``, with the words in its metadata),
        ``parquet`` (columns ``word`` and ``vector``), or ``tsv`` and ``csv`` (a header, and a
        column per dimension). By default the extension decides: see `format_of`.
    dtype
        The format of numbers. ``float32`` keeps the vectors exactly; ``float16`` halves the size
        (npz, npy, safetensors, parquet); ``int8`` quarters it (npz, safetensors): multiply the rows
        of ``vectors`` by the array ``vectors_scale``.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/vectors.txt"
    >>> write_vectors(Embedding(["king", "queen"], [[1, 0.5], [2, 0]]), file)
    >>> print(Path(file).read_text(), end="")
    2 2
    king 1 0.5
    queen 2 0
    """
    chosen = format or format_of(path)
    _check_format(chosen)
    if chosen in _UNCOMPRESSED and os.fspath(path).endswith(".gz"):
        raise SettingError(f"{path}: the format {chosen} is not compressed; leave out .gz.")
    if chosen in ("npz", "npy", "safetensors", "parquet"):
        array_files.WRITERS[chosen](embedding, path, dtype)
        return
    if dtype != "float32":
        raise SettingError(
            f"The format {chosen} has no {dtype}; write npz, safetensors, qwem or hub."
        )
    if chosen == "word2vec-binary":
        word2vec_files.write_binary(embedding, path)
    elif chosen in ("tsv", "csv"):
        array_files.write_delimited(embedding, path, _DELIMITERS[chosen])
    else:
        word2vec_files.write_text(embedding, path, header=chosen == "word2vec")


def read_vectors(
    path: str | os.PathLike[str],
    format: Format | None = None,  # noqa: A002
    *,
    limit: int | None = None,
    unicode_errors: str = "strict",
) -> Embedding:
    """Read words and vectors that another program wrote, or a saved `Embedding`.

    Parameters
    ----------
    path
        A file in one of the formats of `write_vectors`. Text and binary files may be gzipped.
    format
        Its format. By default the name and the first lines of the file decide.
    limit
        Read only this many of the first words.
    unicode_errors
        What to do with words that are not UTF-8, as in `bytes.decode`: ``strict`` refuses them.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/vectors.txt"
    >>> write_vectors(Embedding(["king", "queen"], [[1, 0.5], [2, 0]]), file, "glove")
    >>> read_vectors(file)
    Embedding(2 words × 2: king queen)
    """
    if limit is not None and limit < 1:
        raise SettingError(f"limit must be at least 1, not {limit}.")
    if format is None and Path(path).is_dir():
        return _limited(Embedding.load(path), limit)
    found = _guess(path) if format is None else format
    _check_format(found)
    if found == "word2vec-binary":
        return word2vec_files.read_binary(path, limit=limit, unicode_errors=unicode_errors)
    if found in ("word2vec", "glove"):
        return word2vec_files.read_text(
            path, header=found == "word2vec", limit=limit, unicode_errors=unicode_errors
        )
    if found in _DELIMITERS:
        return _limited(array_files.read_delimited(path, _DELIMITERS[found]), limit)
    return _limited(array_files.READERS[found](path), limit)


def _check_format(name: str) -> None:
    if name not in get_args(Format):
        raise SettingError(f"format must be one of {', '.join(get_args(Format))}, not {name!r}.")


def _limited(embedding: Embedding, limit: int | None) -> Embedding:
    return embedding if limit is None else embedding.restrict(min(limit, len(embedding)))


def _guess(path: str | os.PathLike[str]) -> Format:
    """Guess the format of a file from its name and its first two lines."""
    named = format_of(path)
    if named in _UNCOMPRESSED:
        return named
    with word2vec_files.reading(path) as file:
        if word2vec_files.header_of(file.readline(1 << 16)) is None:
            return "glove"
        line = file.readline(1 << 20)
    try:
        numbers = line.decode().split()[1:]
    except UnicodeDecodeError:
        return "word2vec-binary"
    return "word2vec" if any(map(word2vec_files.is_number, numbers)) else "word2vec-binary"
