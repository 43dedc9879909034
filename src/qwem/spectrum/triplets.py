"""Singular triplets of asymmetric and rectangular targets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem.corpus import Vocabulary
from qwem.errors import RankError, SettingError
from qwem.spectrum import krylov
from qwem.spectrum.spectrum import Request, fix_signs

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

KIND = "decomposition"
_ARRAYS, _WORDS, _CONTEXTS = "triplets.safetensors", "words.txt", "contexts.txt"
_NUMBERS = ("singular_values", "left_vectors", "right_vectors", "residuals")

_LAPACK_SIZE = 2_000
_SINGLE_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class Triplets:
    """Leading singular triplets M ≈ Σ_k s_k u_k v_kᵀ of a target, the largest first.

    An untied model WW′ᵀ of an asymmetric target learns them: W = U S^½ for words and W′ = V S^½ for
    contexts, which may be other words, documents or images.
    """

    singular_values: NDArray[np.float64]
    left_vectors: NDArray[Any] = field(repr=False)
    """U, one column per triplet, one row per word."""
    right_vectors: NDArray[Any] = field(repr=False)
    """V, one column per triplet, one row per context."""
    residuals: NDArray[np.float64] = field(repr=False)
    """√(‖Mv − su‖² + ‖Mᵀu − sv‖²)/√2 of each triplet."""
    vocabulary: Vocabulary
    contexts: Vocabulary
    tol: float

    @property
    def dim(self) -> int:
        """The number of triplets."""
        return len(self.singular_values)

    @property
    def converged(self) -> bool:
        """Whether every residual is at most tol times the largest singular value."""
        return bool(np.all(self.residuals <= self.tol * self.singular_values.max(initial=0.0)))

    def restrict(self, dim: int) -> Triplets:
        """Return the first `dim` triplets."""
        if not 0 < dim <= self.dim:
            raise SettingError(f"dim must be between 1 and {self.dim}, not {dim}.")
        return replace(
            self,
            singular_values=self.singular_values[:dim],
            left_vectors=self.left_vectors[:, :dim],
            right_vectors=self.right_vectors[:, :dim],
            residuals=self.residuals[:dim],
        )

    def embedding(self) -> Embedding:
        """Return the word vectors W = U S^½."""
        return self._embedding(self.vocabulary, self.left_vectors, "word")

    def context_embedding(self) -> Embedding:
        """Return the context vectors W′ = V S^½; WW′ᵀ is the best approximation of its rank."""
        return self._embedding(self.contexts, self.right_vectors, "context")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the triplets to a directory."""
        arrays = {name: getattr(self, name) for name in _NUMBERS}
        arrays["word_counts"] = self.vocabulary.counts
        arrays["context_counts"] = self.contexts.counts
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_words(directory / _WORDS, self.vocabulary.words)
            artefact.write_words(directory / _CONTEXTS, self.contexts.words)
            artefact.write_metadata(directory, KIND, {"tol": self.tol})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Triplets:
        """Read triplets written by `save`."""

        def build(saved: artefact.Saved) -> Triplets:
            arrays = saved.arrays(_ARRAYS)
            sides = {"left_vectors": "wd", "right_vectors": "cd"}
            counts = {"word_counts": "w", "context_counts": "c"}
            artefact.require_shapes(arrays, **sides, **counts, singular_values="d", residuals="d")
            return cls(
                **{name: arrays[name] for name in _NUMBERS},
                vocabulary=Vocabulary(saved.words(_WORDS), arrays["word_counts"]),
                contexts=Vocabulary(saved.words(_CONTEXTS), arrays["context_counts"]),
                tol=saved.metadata["tol"],
            )

        return artefact.load(path, KIND, build)

    def _embedding(self, vocabulary: Vocabulary, vectors: NDArray[Any], role: str) -> Embedding:
        from qwem.embedding import Embedding

        weighted = vectors * np.sqrt(self.singular_values)
        return Embedding(vocabulary, weighted, provenance={"role": role})


def singular_triplets(
    matrix: Any,
    dim: int,
    *,
    words: Sequence[str] | Vocabulary,
    contexts: Sequence[str] | Vocabulary | None = None,
    tol: float = 1e-3,
    seed: int = 0,
) -> Triplets:
    """Return the `dim` leading singular triplets of a matrix of words and contexts.

    Parameters
    ----------
    matrix
        A NumPy array, a SciPy sparse matrix, or an operator with ``@``, ``.T`` and ``.shape``.
    dim
        The number of triplets.
    words, contexts
        The names of rows and columns; by default contexts are the words.
    tol
        The largest residual, relative to the largest singular value.
    seed
        The seed of the random start.

    A matrix of up to 2,000 rows or columns is solved by LAPACK. A larger one is solved by the block
    Krylov method of `factorize`, applied to (0 M; Mᵀ 0), whose eigenvalues are ±s_k with the
    eigenvectors (u_k; ±v_k)/√2.

    >>> found = singular_triplets(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]), 2,
    ...                           words=["a", "b", "c"], contexts=["x", "y"])
    >>> found.singular_values
    array([2., 1.])
    """
    rows, columns = _vocabulary(words), _vocabulary(words if contexts is None else contexts)
    if tuple(matrix.shape) != (len(rows), len(columns)):
        raise SettingError(
            f"{len(rows):,} words and {len(columns):,} contexts need a matrix of that shape, not "
            f"{tuple(matrix.shape)}."
        )
    if not 0 < dim <= min(matrix.shape):
        raise SettingError(
            f"dim must be between 1 and {min(matrix.shape):,}, the smaller side of the matrix, "
            f"not {dim}."
        )
    if not 0 < tol < 1:
        raise SettingError(f"tol must be between 0 and 1, not {tol}.")
    if min(matrix.shape) <= _LAPACK_SIZE:
        dense = matrix @ np.eye(matrix.shape[1])
        left, values, right = np.linalg.svd(dense, full_matrices=False)
        left, values, right = left[:, :dim], values[:dim], right[:dim].T
    else:
        left, values, right = _by_krylov(matrix, dim, tol, seed)
    if values[-1] <= np.finfo(np.float32).eps * values[0]:
        count = int(np.count_nonzero(values > np.finfo(np.float32).eps * values[0]))
        raise RankError(f"The matrix has rank {count}; lower dim from {dim} to that.")
    stacked = fix_signs(np.concatenate([left, right]))
    left, right = stacked[: len(left)], stacked[len(left) :]
    defects = np.concatenate([matrix @ right - left * values, matrix.T @ left - right * values])
    residuals = np.linalg.norm(defects, axis=0) / np.sqrt(2)
    return Triplets(values, left, right, residuals, rows, columns, tol)


def _vocabulary(words: Sequence[str] | Vocabulary) -> Vocabulary:
    if isinstance(words, Vocabulary):
        return words
    return Vocabulary(tuple(words), np.zeros(len(words), np.int64))


def _by_krylov(
    matrix: Any, dim: int, tol: float, seed: int
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any]]:
    height, width = matrix.shape
    total = height + width
    dtype = np.dtype(np.float32 if tol >= _SINGLE_TOL else np.float64)

    def multiply(block: NDArray[Any]) -> NDArray[Any]:
        upper, lower = np.ascontiguousarray(block[:height]), np.ascontiguousarray(block[height:])
        product = np.concatenate([matrix @ lower, matrix.T @ upper])
        return product.astype(dtype, copy=False)

    pairs = krylov.solve(
        multiply,
        total,
        Request(dim, False, tol, np.full(total, total**-0.5)),
        dtype=dtype,
        start=None,
        seed=seed,
        max_basis=min(total, 24 * dim + 640),
        max_products=200 * dim + 20_000,
    )
    vectors = pairs.eigenvectors
    left, right = vectors[:height], vectors[height:]
    # The halves of a converged eigenvector have the same length, up to the tolerance.
    return (
        left / np.linalg.norm(left, axis=0),
        pairs.eigenvalues,
        right / np.linalg.norm(right, axis=0),
    )
