"""`Target`: the matrix whose eigenvectors give the embeddings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import blocks, csr_arrays, csr_matrix, for_each
from qwem._internal.resources import require_memory
from qwem.corpus import Vocabulary
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse.linalg import LinearOperator

    from qwem.target.reweighting import Coupling

KIND = "target"
_ARRAYS, _WORDS = "target.safetensors", "words.txt"
_IDENTITY_ENTRIES = 1 << 23
_DENSE_COLUMNS = 1 << 10


@dataclass(frozen=True, eq=False)
class Target:
    """A symmetric matrix of words × words: a smooth part for unseen pairs, plus the rest.

    M = D (terms diag(term_weights) termsᵀ + rest) D. If many pairs are seen, `rest` is a dense
    array and there are no terms. Otherwise `rest` is sparse, and the terms (one for M* and PMI,
    none for PPMI) give the entries of unseen pairs. D = diag(scale) comes from a coupling. An
    eigensolver only uses ``target @ block``, which works for all of these.

    >>> from qwem import Cooccurrence
    >>> from qwem.target import mstar
    >>> mstar(Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])).toarray().round(3)
    array([[-0.118,  0.286],
           [ 0.286, -2.   ]], dtype=float32)
    """

    vocabulary: Vocabulary
    name: str
    settings: dict[str, Any]
    """The settings it was made with, as plain data."""
    rest: NDArray[Any] | sparse.csr_array[Any] | LinearOperator = field(repr=False)
    """All entries; or a sparse matrix (rows sorted) to add to the terms; or any operator with
    ``@``, `shape` and `dtype`."""
    terms: NDArray[Any] = field(repr=False)
    term_weights: NDArray[Any] = field(repr=False)
    coupling: Coupling = field(default=None, repr=False)
    """G of Proposition 3.3: None if it is constant (Setting 3.1), the vector g if G = g gᵀ,
    otherwise ``"general"``, for which there is no closed form."""
    scale: NDArray[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        entries = self.rest.data if isinstance(self.rest, sparse.csr_array) else self.rest
        for array in (entries, self.terms, self.term_weights, self.coupling, self.scale):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    @classmethod
    def from_matrix(
        cls,
        words: Sequence[str] | Vocabulary,
        matrix: ArrayLike | sparse.sparray | sparse.spmatrix | LinearOperator,
        *,
        name: str = "matrix",
        coupling: ArrayLike | None = None,
    ) -> Target:
        """Return a target made from your own symmetric matrix, and its coupling g.

        The matrix is dense, SciPy sparse, or anything with ``@``, `shape` and `dtype`, such as a
        SciPy `LinearOperator`.

        >>> Target.from_matrix(["a", "b"], [[2.0, 1.0], [1.0, 2.0]]) @ np.ones((2, 1))
        array([[3.],
               [3.]])
        """
        rest: Any = matrix
        if sparse.issparse(matrix):
            rest = sparse.csr_array(matrix).copy()
            rest.sum_duplicates()
        elif not _is_operator(matrix):
            rest = np.array(matrix)
        if isinstance(rest, np.ndarray | sparse.csr_array):
            rest = rest if rest.dtype in (np.float32, np.float64) else rest.astype(np.float64)
        vocabulary = Vocabulary.of(words)
        size = len(vocabulary)
        if rest.shape != (size, size):
            raise SettingError(
                f"{size:,} words need a {size:,} × {size:,} target, not {rest.shape}."
            )
        _check_finite_and_symmetric(rest)
        g = None if coupling is None else np.array(coupling, dtype=np.float64)
        if g is not None and (g.shape != (size,) or not np.all(np.isfinite(g) & (g > 0))):
            raise SettingError(f"A rank-one coupling needs {size:,} positive numbers.")
        no_terms = np.empty((size, 0), rest.dtype), np.empty(0, rest.dtype)
        return cls(vocabulary, name, {"target": name}, rest, *no_terms, coupling=g)

    @property
    def shape(self) -> tuple[int, int]:
        """The vocabulary size, twice."""
        return len(self.vocabulary), len(self.vocabulary)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an entry."""
        return self.rest.dtype

    @property
    def is_dense(self) -> bool:
        """Whether every entry is stored."""
        return isinstance(self.rest, np.ndarray)

    @property
    def row_scale(self) -> NDArray[np.float64] | None:
        """The diagonal of Γ⁻¹, which turns V Λ^½ of the solved matrix into W; None if all are 1."""
        return 1 / np.sqrt(self.coupling) if isinstance(self.coupling, np.ndarray) else None

    def solved_matrix(self) -> Target:
        """Return the matrix to eigendecompose: Γ M Γ with Γ = diag(g)^½ (Proposition 3.3).

        It is the target itself if the coupling is constant (Theorem 3.2).
        """
        if self.coupling is None:
            return self
        if isinstance(self.coupling, str):
            raise SettingError(
                "This target's coupling G is neither constant nor rank one, so it has no closed "
                "form (weighted factorization is NP-hard); train it by the population gradient, "
                "with the population trainer of qwem.training, or multiply its reweighting by "
                "setting31()."
            )
        root = np.sqrt(self.coupling)
        scale = root if self.scale is None else self.scale * root
        return replace(self, coupling=None, scale=scale)

    def __matmul__(self, block: NDArray[Any]) -> NDArray[Any]:
        """Multiply a block of vectors (or one vector), in the wider type of the two."""
        vectors = np.asarray(block)
        if vectors.ndim == 1:
            column: NDArray[Any] = (self @ vectors[:, None])[:, 0]
            return column
        if vectors.ndim != 2 or vectors.shape[0] != self.shape[0]:
            raise SettingError(
                f"A target of {self.shape[0]:,} words multiplies blocks of that many rows, not of "
                f"shape {vectors.shape}."
            )
        dtype = np.result_type(self.dtype, vectors.dtype)
        vectors = np.ascontiguousarray(vectors, dtype)
        if self.scale is not None:
            scale = self.scale.astype(dtype)[:, None]
            return scale * self._unscaled(scale * vectors)
        return self._unscaled(vectors)

    def toarray(self) -> NDArray[Any]:
        """Return the whole matrix as a new dense array."""
        size, _ = self.shape
        require_memory(
            size * size * self.dtype.itemsize,
            f"A dense {size:,} × {size:,} target",
            "use @ instead",
        )
        if isinstance(self.rest, np.ndarray):
            entries = self.rest.copy()
        elif isinstance(self.rest, sparse.csr_array):
            entries = self.rest.toarray()
        else:
            entries = np.empty(self.shape, self.dtype)
            for columns in blocks(size, size, most=_IDENTITY_ENTRIES):
                identity = np.zeros((size, columns.stop - columns.start), self.dtype)
                identity[columns] = np.eye(columns.stop - columns.start)
                entries[:, columns] = self.rest @ identity
        if not self.is_dense:
            entries += (self.terms * self.term_weights) @ self.terms.T
        if self.scale is not None:
            scale = self.scale.astype(self.dtype)
            entries *= scale[:, None]
            entries *= scale
        return entries

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the target to a directory."""
        if not isinstance(self.rest, np.ndarray | sparse.csr_array):
            raise SettingError(
                "This target is an operator, whose entries are not stored; save toarray() instead."
            )
        arrays = {
            "vocabulary_counts": self.vocabulary.counts,
            "terms": self.terms,
            "term_weights": self.term_weights,
        }
        if isinstance(self.rest, np.ndarray):
            arrays["rest"] = self.rest
        else:
            arrays |= csr_arrays(self.rest, "rest")
        general = isinstance(self.coupling, str)
        if self.coupling is not None and not isinstance(self.coupling, str):
            arrays["coupling"] = self.coupling
        if self.scale is not None:
            arrays["scale"] = self.scale
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_words(directory / _WORDS, self.vocabulary.words)
            metadata = {"name": self.name, "settings": self.settings, "general_coupling": general}
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Target:
        """Read a target written by `save`."""

        def build(saved: artefact.Saved) -> Target:
            arrays, words = saved.arrays(_ARRAYS), saved.words(_WORDS)
            size = len(words)
            vectors = {"vocabulary_counts": "w", "coupling": "w", "scale": "w", "term_weights": "t"}
            artefact.require_shapes(arrays, **vectors, rest="ww", terms="wt")
            rest: Any = arrays.get("rest")
            if rest is None:
                rest = csr_matrix(arrays, "rest", size)
            metadata = saved.metadata
            return cls(
                Vocabulary(words, arrays["vocabulary_counts"]),
                metadata["name"],
                metadata["settings"],
                rest,
                arrays["terms"],
                arrays["term_weights"],
                "general" if metadata["general_coupling"] else arrays.get("coupling"),
                arrays.get("scale"),
            )

        return artefact.load(path, KIND, build)

    def _unscaled(self, vectors: NDArray[Any]) -> NDArray[Any]:
        product = self._times_rest(vectors)
        if self.term_weights.size:
            shares = self.term_weights[:, None] * (self.terms.T @ vectors)

            def add(rows: slice) -> None:
                product[rows] += self.terms[rows] @ shares

            for_each(add, blocks(*vectors.shape))
        return product

    def _times_rest(self, vectors: NDArray[Any]) -> NDArray[Any]:
        if isinstance(self.rest, np.ndarray):
            return self._dense_product(self.rest, vectors)
        if not isinstance(self.rest, sparse.csr_array):
            product: NDArray[Any] = self.rest @ vectors
            return product
        from qwem._internal.kernels import multiply

        return multiply(self.rest, vectors)

    def _dense_product(self, entries: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
        # By symmetry M X = (Xᵀ M)ᵀ, which is up to 1.4 times faster in BLAS for a narrow X. In
        # blocks, threads can share the work, and a block at a time is converted to the wider type.
        product = np.empty(vectors.shape[::-1], vectors.dtype)

        def work(columns: slice) -> None:
            block = entries[:, columns].astype(vectors.dtype, copy=False)
            np.matmul(vectors.T, block, out=product[:, columns])

        for_each(work, blocks(len(entries), most=_DENSE_COLUMNS))
        return product.T


def _is_operator(matrix: Any) -> bool:
    """Return whether `matrix` has ``@``, `shape` and `dtype` and is not an array."""
    names = ("__matmul__", "shape", "dtype")
    return all(hasattr(matrix, name) for name in names) and not hasattr(matrix, "__array__")


def _check_finite_and_symmetric(rest: Any) -> None:
    """Refuse a matrix that is not finite and symmetric; test an operator on two random vectors."""
    if isinstance(rest, np.ndarray | sparse.csr_array):
        tested, tolerance = rest, 1e-6
    else:
        probe = np.random.default_rng(0).standard_normal((rest.shape[0], 2)).astype(rest.dtype)
        tested, tolerance = probe.T @ (rest @ probe), 1e-4
    values = tested if isinstance(tested, np.ndarray) else tested.data
    if not np.all(np.isfinite(values)):
        raise SettingError(
            "A target must be finite, and this matrix has entries that are NaN or infinite."
        )
    if _asymmetry(tested) > tolerance * max(abs(values.min(initial=0)), values.max(initial=0)):
        raise SettingError("A target must be symmetric, and this matrix is not.")


def _asymmetry(matrix: NDArray[Any] | sparse.csr_array[Any]) -> float:
    """Return the largest |M_ij − M_ji|."""
    if not isinstance(matrix, np.ndarray):
        return float(abs(matrix - matrix.T).max())
    differences = (
        float(np.abs(matrix[rows] - matrix[:, rows].T).max()) for rows in blocks(*matrix.shape)
    )
    return max(differences, default=0.0)
