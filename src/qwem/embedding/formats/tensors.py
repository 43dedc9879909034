"""Vectors as one safetensors file: the tensor `vectors`, with the words in the metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from qwem._internal.files import writing_file
from qwem.embedding.formats.arrays import checked
from qwem.embedding.storage import check_words
from qwem.errors import DataError

if TYPE_CHECKING:
    import os

    from qwem.embedding.embedding import Embedding


def write_safetensors(embedding: Embedding, path: str | os.PathLike[str]) -> None:
    """Write the tensor `vectors`, and the words as a JSON list in the metadata `words`."""
    check_words(embedding, "", "a safetensors file")
    words = json.dumps(embedding.index_to_key, ensure_ascii=False)
    with writing_file(path) as file:
        file.write(save({"vectors": embedding.vectors}, metadata={"words": words}))


def read_safetensors(path: str | os.PathLike[str]) -> Embedding:
    """Read a file that `write_safetensors` wrote."""
    try:
        with safe_open(path, framework="numpy") as file:
            if "vectors" not in file.keys() or "words" not in (file.metadata() or {}):  # noqa: SIM118
                raise DataError(f"{path} needs the tensor vectors, and words in its metadata.")
            vectors, words = file.get_tensor("vectors"), json.loads(file.metadata()["words"])
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}.") from error
    except (SafetensorError, ValueError) as error:
        raise DataError(f"{path} is damaged ({error}); make it again.") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError(f"{path}: the words in its metadata must be a JSON list of strings.")
    return checked(path, "safetensors", words, vectors)
