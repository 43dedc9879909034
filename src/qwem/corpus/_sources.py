"""Sources of text: files or documents in memory, opened and ready to be encoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.settings import require_choice
from qwem.corpus._batches import gather, split_words
from qwem.corpus._documents import (
    check_documents,
    is_dataset,
    is_frame,
    read_dataset,
    read_documents,
    read_frame,
)
from qwem.corpus._files import find_files
from qwem.corpus._formats import read_files
from qwem.corpus.tokenizer import WORDS_GIVEN, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from qwem.corpus._batches import DocumentBatch, TextBatch
    from qwem.corpus._files import InputFile, PathLike
    from qwem.corpus.reading import Documents, Reading

_NO_LETTERS = np.empty(0, np.int32)


@dataclass(frozen=True)
class Source:
    """Text as the encoder takes it."""

    batches: Iterable[DocumentBatch]
    letters: NDArray[np.int32]
    """The table of a compiled tokenizer; batches of words don't use it."""
    description: dict[str, Any]
    """What it is and how it is split, for the corpus to record."""
    size: int | None = None
    """The sum of the batches' `progress`, where it is known."""


def open_files(
    paths: PathLike | Iterable[PathLike], documents: Documents, reading: Reading
) -> Source:
    """Return the text of files; see `Corpus.from_files`."""
    return open_found(find_files(paths), documents, reading)


def open_found(files: list[InputFile], documents: Documents, reading: Reading) -> Source:
    """Return the text of files that were found."""
    require_choice("documents", documents, ("line", "file"))
    batches = gather(
        read_files(
            files,
            documents=documents,
            reading=reading,
            whole=resolve(reading.tokenizer).split is not None,
        )
    )
    description: dict[str, Any] = {"input": "files", "files": len(files)}
    formats = {file.format for file in files}
    if "text" in formats:
        description["documents"] = documents
    if formats - {"text"}:
        description["text_column"] = reading.text_column
    if reading.encoding != "utf-8":
        description["encoding"] = reading.encoding
    return _source_of_text(batches, reading, description, sum(file.size for file in files))


def open_documents(documents: Iterable[Any], reading: Reading) -> Source:
    """Return the text of documents in memory; see `Corpus.from_documents`."""
    for kind, is_kind, read_kind in (
        ("dataset", is_dataset, read_dataset),
        ("table", is_frame, read_frame),
    ):
        if is_kind(documents):
            batches = gather(read_kind(documents, reading.text_column, reading.errors))
            description = {"input": kind, "text_column": reading.text_column}
            return _source_of_text(batches, reading, description)
    check_documents(documents)
    are_words, read = read_documents(documents, reading.text_column, reading.errors)
    if are_words:
        return Source(read, _NO_LETTERS, {"input": "documents", "tokenizer": WORDS_GIVEN})
    return _source_of_text(read, reading, {"input": "documents"})  # type: ignore[arg-type]


def _source_of_text(
    batches: Iterable[TextBatch],
    reading: Reading,
    description: dict[str, Any],
    size: int | None = None,
) -> Source:
    tokenizer = resolve(reading.tokenizer)
    description = {**description, "tokenizer": tokenizer.name}
    if tokenizer.split is not None:
        words = split_words(batches, tokenizer.split, reading.errors)
        return Source(words, _NO_LETTERS, description, size)
    letters = _NO_LETTERS if tokenizer.letters is None else tokenizer.letters
    return Source(batches, letters, description, size)
