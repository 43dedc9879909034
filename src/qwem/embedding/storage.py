"""Embeddings on disk: vectors in float32, or in float16 for half the space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem._internal import artefact
from qwem.corpus import Vocabulary
from qwem.embedding.spelling import Spelling
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding

KIND = "embedding"
ARRAYS, WORDS, NGRAMS = "vectors.safetensors", "words.txt", "ngrams.txt"

StoredType = Literal["float32", "float16"]
"""The number format of stored vectors."""


def save(embedding: Embedding, path: str | os.PathLike[str], dtype: StoredType) -> None:
    """Write an embedding to a directory."""
    words, spelling = embedding.index_to_key, embedding.spelling
    check_words(words, "\n", "a saved embedding, which has one word per line")
    arrays: dict[str, NDArray[Any]] = {"vectors": stored_vectors(embedding.vectors, dtype)}
    if embedding.vocabulary.counts.any():
        arrays["counts"] = embedding.vocabulary.counts
    if spelling is not None:
        arrays["ngrams"] = stored_vectors(spelling.vectors, dtype)
    metadata: dict[str, Any] = {"vocab_size": len(words), "dim": embedding.vector_size}
    metadata["provenance"] = dict(embedding.provenance)
    with artefact.writing(path, KIND) as directory:
        artefact.write_arrays(directory / ARRAYS, arrays)
        artefact.write_words(directory / WORDS, words)
        if spelling is not None:
            artefact.write_words(directory / NGRAMS, spelling.ngrams)
        artefact.write_metadata(directory, KIND, metadata)


def load(path: str | os.PathLike[str], kind: type[Embedding]) -> Embedding:
    """Return an embedding that `save` wrote."""

    def build(saved: artefact.Saved) -> Embedding:
        arrays, words = saved.arrays(ARRAYS), saved.words(WORDS)
        counts = arrays.get("counts", np.zeros(len(words), dtype=np.int64))
        spelling = None
        if "ngrams" in arrays:
            spelling = Spelling(saved.words(NGRAMS), arrays["ngrams"].astype(np.float32))
        provenance = saved.metadata["provenance"]
        return kind(
            Vocabulary(words, counts), arrays["vectors"], provenance=provenance, spelling=spelling
        )

    return artefact.load(path, KIND, build)


def stored_vectors(vectors: NDArray[np.float32], dtype: StoredType) -> NDArray[Any]:
    """Return the vectors in the number format `dtype`.

    >>> stored_vectors(np.ones((1, 2), dtype=np.float32), "float16").dtype
    dtype('float16')
    """
    if dtype not in get_args(StoredType):
        raise SettingError(f"dtype must be float32 or float16, not {dtype!r}.")
    largest = float(np.abs(vectors).max())
    if dtype == "float16" and largest > float(np.finfo(np.float16).max):
        raise SettingError(
            f"The vectors contain numbers up to {largest:.3g}, and float16 ends at 65504; scale "
            "the vectors or save them in float32."
        )
    return vectors.astype(dtype, copy=False)


def check_words(words: Iterable[str], forbidden: str, where: str) -> None:
    """Refuse words that contain a forbidden character or can't be encoded in UTF-8."""
    barred = set(forbidden)
    for word in words:
        if not barred.isdisjoint(word):
            raise SettingError(f"The word {word!r} can't be part of {where}; rename or drop it.")
        if not word.isascii():
            try:
                word.encode("utf-8")
            except UnicodeEncodeError as error:
                raise SettingError(
                    f"The word {word!r} can't be written in UTF-8 ({error.reason}); "
                    "rename or drop it."
                ) from error
