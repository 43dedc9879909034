"""`Spectrum`: the leading eigenpairs of a target, and the rules for their order and signs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import blocks
from qwem.corpus import Vocabulary
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.spectrum.krylov import Block


# The least share of the outlier's squared length along the direction of the unseen pairs.
_OUTLIER_ALIGNMENT = 0.25
# A sum of cubes below this share of the sum of their magnitudes is treated as zero.
_BALANCED = 1e-5


@dataclass(frozen=True)
class Request:
    """A request to an eigensolver: how many eigenpairs, which, and how accurate.

    `direction` is the unit vector along which the unseen pairs act; it identifies the outlier.
    """

    dim: int
    signed: bool
    tol: float
    direction: NDArray[np.float64]


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues, best first, with their eigenvectors and residuals, and how they were found.

    `outlier` is the eigenvalue left out of a signed selection, `floor` the magnitude below which an
    eigenvalue may be zero, `products` the number of vectors that were multiplied.
    """

    eigenvalues: NDArray[np.float64]
    eigenvectors: Block
    residuals: NDArray[np.float64]
    outlier: float | None
    floor: float
    products: int


@dataclass(frozen=True)
class Selection:
    """The indices of the eigenvalues to keep, best first, and of the outlier to leave out."""

    kept: NDArray[np.int64]
    outlier: int | None


def select(
    eigenvalues: NDArray[np.float64], alignment: NDArray[np.float64], *, signed: bool
) -> Selection:
    """Order eigenvalues by value, or if `signed` by magnitude without the outlier.

    The outlier is the eigenvalue of largest magnitude, provided that it is negative and that at
    least a quarter of its eigenvector's squared length (`alignment`) lies along the direction in
    which the unseen pairs act: 1, or Γ1 under a rank-one coupling. M* is −2 on every unseen pair,
    so this eigenvalue is near −2V times their share and says nothing about any word; PPMI, which
    has no negative entry, has no such eigenvalue (Perron and Frobenius).

    >>> select(np.array([-9.0, -3.0, 2.0]), np.array([0.9, 0.0, 0.1]), signed=True)
    Selection(kept=array([1, 2]), outlier=0)
    """
    if not signed:
        return Selection(np.argsort(-eigenvalues, kind="stable"), None)
    order = np.argsort(-np.abs(eigenvalues), kind="stable")
    first = int(order[0])
    if eigenvalues[first] < 0 and alignment[first] >= _OUTLIER_ALIGNMENT:
        return Selection(order[1:], first)
    return Selection(order, None)


def residuals_of(
    image: np.ndarray[Any, Any], eigenvalues: NDArray[np.float64], eigenvectors: Block
) -> NDArray[np.float64]:
    """Return ‖M v − λ v‖ of every pair, given the image M v."""
    squares = np.zeros(len(eigenvalues))
    for rows in blocks(*image.shape):
        squares += np.square(image[rows] - eigenvectors[rows] * eigenvalues).sum(axis=0)
    return np.sqrt(squares)


def fix_signs(eigenvectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Flip each column so that the sum of the cubes of its entries is positive.

    With cubes, the large entries decide, and not just which of two nearly equal ones is larger. If
    the cubes cancel, the first entry at least half as large as the largest is made positive.

    >>> fix_signs(np.array([[0.6, -0.6], [-0.8, 0.8]])).tolist()
    [[-0.6, -0.6], [0.8, 0.8]]
    """
    largest = np.maximum(eigenvectors.max(axis=0), -eigenvectors.min(axis=0))
    scale = np.where(largest > 0, largest, 1).astype(eigenvectors.dtype)
    totals, sizes = np.zeros(len(scale)), np.zeros(len(scale))
    for rows in blocks(*eigenvectors.shape):
        scaled = eigenvectors[rows] / scale
        cubes = scaled * scaled * scaled
        totals += cubes.sum(axis=0, dtype=np.float64)
        sizes += np.abs(cubes).sum(axis=0, dtype=np.float64)
    decisive = totals.copy()
    for k in np.flatnonzero(np.abs(totals) <= _BALANCED * sizes):
        decisive[k] = eigenvectors[np.argmax(np.abs(eigenvectors[:, k]) >= largest[k] / 2), k]
    flips = np.where(decisive < 0, -1, 1).astype(eigenvectors.dtype)
    return eigenvectors * flips


KIND = "spectrum"
_ARRAYS, _WORDS, _CONTEXTS = "spectrum.safetensors", "words.txt", "contexts.txt"


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The leading eigenpairs of a target, in order, with the residual of each.

    If `signed` is false these are the largest eigenvalues λ_k, all positive, which a model with
    tied weights can use (Theorem 3.2). If it is true they are the largest in magnitude, of either
    sign, which an untied model uses. The signs of the eigenvectors are fixed by rule. All smaller
    models are prefixes of this one.

    The singular triplets of an asymmetric target are a signed spectrum too: `eigenvalues` are its
    singular values, `eigenvectors` the left singular vectors, and `right_vectors` the others.

    >>> from qwem.spectrum import factorize
    >>> spectrum = factorize(np.array([[2.0, 1.0], [1.0, 2.0]]), dim=1, words=["a", "b"])
    >>> spectrum.eigenvalues.round(6), spectrum.converged
    (array([3.]), True)
    """

    eigenvalues: NDArray[np.float64]
    """Λ, the largest first, by value or, if `signed`, by magnitude."""
    eigenvectors: NDArray[Any] = field(repr=False)
    """V*, one orthonormal column for each eigenvalue, one row for each word."""
    residuals: NDArray[np.float64] = field(repr=False)
    """‖M v − λ v‖ for each pair, checked against one more product."""
    vocabulary: Vocabulary
    tol: float
    """The requested residual, relative to the largest magnitude |λ|."""
    signed: bool = False
    row_scale: NDArray[np.float64] | None = field(default=None, repr=False)
    """The diagonal of Γ⁻¹ if the coupling has rank one (Proposition 3.3), otherwise None."""
    outlier: float | None = None
    """The huge negative eigenvalue that a signed spectrum leaves out, if there was one."""
    method: str = "given"
    """The solver: lapack or krylov; or "given", if the pairs were not computed here."""
    products: int = 0
    """How many vectors were multiplied by the target."""
    target_name: str = ""
    target_settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    right_vectors: NDArray[Any] | None = field(default=None, repr=False)
    """The right singular vectors of an asymmetric target, one row for each context."""
    contexts: Vocabulary | None = field(default=None, repr=False)
    """What the columns of an asymmetric target are; otherwise they are the words."""

    def __repr__(self) -> str:
        first, last = self.eigenvalues[0], self.eigenvalues[-1]
        target = f" of {self.target_name}" if self.target_name else ""
        return (
            f"Spectrum({len(self.eigenvalues)} eigenvalues{target}, {first:.4g} to {last:.4g}, "
            f"{len(self.vocabulary):,} words{'' if self.converged else ', not converged'})"
        )

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "residuals", "row_scale"):
            if getattr(self, name) is not None:
                array = np.array(getattr(self, name), dtype=np.float64)
                array.setflags(write=False)
                object.__setattr__(self, name, array)
        vectors = np.asarray(self.eigenvectors).view()
        vectors.setflags(write=False)
        object.__setattr__(self, "eigenvectors", vectors)
        expected = len(self.vocabulary), len(self.eigenvalues)
        if vectors.shape != expected or self.residuals.shape != self.eigenvalues.shape:
            raise SettingError(
                f"{expected[0]:,} words and {expected[1]} eigenvalues need eigenvectors of shape "
                f"{expected} and as many residuals, not {vectors.shape} and "
                f"{len(self.residuals)}."
            )

    @property
    def dim(self) -> int:
        """The number of eigenpairs."""
        return len(self.eigenvalues)

    @property
    def converged(self) -> bool:
        """Whether every residual is at most tol times the largest magnitude |λ|."""
        largest = np.abs(self.eigenvalues).max(initial=0.0)
        return bool(np.all(self.residuals <= self.tol * largest))

    @property
    def context_vectors(self) -> NDArray[Any]:
        """The directions of the contexts: V sign(Λ), or the right singular vectors."""
        if self.right_vectors is not None:
            return self.right_vectors
        return self.eigenvectors * np.sign(self.eigenvalues)

    def restrict(self, dim: int) -> Spectrum:
        """Return the first `dim` eigenpairs."""
        if not 0 < dim <= self.dim:
            raise SettingError(
                f"dim must be between 1 and {self.dim}, the eigenpairs there are, not {dim}; "
                "factorize the target again for more."
            )
        return replace(
            self,
            eigenvalues=self.eigenvalues[:dim],
            eigenvectors=self.eigenvectors[:, :dim],
            residuals=self.residuals[:dim],
            right_vectors=None if self.right_vectors is None else self.right_vectors[:, :dim],
        )

    def embedding(self, dim: int | None = None, exponent: float = 0.5) -> Embedding:
        """Return W = Γ⁻¹ V |Λ|^exponent for the first `dim` eigenpairs, or for all.

        With exponent ½ this is the minimum of the loss, W = V Λ^½ (Theorem 3.2), or Γ⁻¹ V Λ^½ if
        the coupling has rank one (Proposition 3.3).

        >>> from qwem.spectrum import factorize
        >>> spectrum = factorize(np.array([[2.0, 1.0], [1.0, 2.0]]), dim=2, words=["a", "b"])
        >>> W = spectrum.embedding().vectors
        >>> bool(np.allclose(W @ W.T, [[2, 1], [1, 2]]))
        True
        """
        return self._embedding(dim, exponent, "word")

    def context_embedding(self, dim: int | None = None, exponent: float = 0.5) -> Embedding:
        """Return the context vectors W′ = Γ⁻¹ V sign(Λ) |Λ|^exponent of an untied model.

        W W′ᵀ is then the best approximation of the target of its rank, negative eigenvalues
        included. If all eigenvalues are positive, the context vectors are the word vectors; those
        of an asymmetric target have a row for each of its contexts.
        """
        return self._embedding(dim, exponent, "context")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the spectrum to a directory."""
        arrays = {
            "eigenvalues": self.eigenvalues,
            "eigenvectors": self.eigenvectors,
            "residuals": self.residuals,
            "vocabulary_counts": self.vocabulary.counts,
        }
        if self.row_scale is not None:
            arrays["row_scale"] = self.row_scale
        if self.right_vectors is not None and self.contexts is not None:
            arrays |= {
                "right_vectors": self.right_vectors,
                "context_counts": self.contexts.counts,
            }
        fields = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_words(directory / _WORDS, self.vocabulary.words)
            if self.contexts is not None:
                artefact.write_words(directory / _CONTEXTS, self.contexts.words)
            artefact.write_metadata(directory, KIND, fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Spectrum:
        """Read a spectrum written by `save`."""

        def build(saved: artefact.Saved) -> Spectrum:
            arrays = saved.arrays(_ARRAYS)
            artefact.require_shapes(arrays, vocabulary_counts="w", row_scale="w")
            contexts = None
            if "right_vectors" in arrays:
                artefact.require_shapes(
                    arrays, right_vectors="cd", context_counts="c", eigenvalues="d"
                )
                contexts = Vocabulary(saved.words(_CONTEXTS), arrays["context_counts"])
            return cls(
                eigenvalues=arrays["eigenvalues"],
                eigenvectors=arrays["eigenvectors"],
                residuals=arrays["residuals"],
                vocabulary=Vocabulary(saved.words(_WORDS), arrays["vocabulary_counts"]),
                row_scale=arrays.get("row_scale"),
                right_vectors=arrays.get("right_vectors"),
                contexts=contexts,
                **{name: saved.metadata[name] for name in _PLAIN_FIELDS},
            )

        return artefact.load(path, KIND, build)

    def _embedding(self, dim: int | None, exponent: float, role: str) -> Embedding:
        from qwem.embedding import Embedding

        used = self if dim is None else self.restrict(dim)
        words, directions = used.vocabulary, used.eigenvectors
        if role == "context":
            words, directions = used.contexts or words, used.context_vectors
        vectors = directions * np.abs(used.eigenvalues) ** exponent
        if used.row_scale is not None:
            vectors *= used.row_scale[:, None]
        provenance = {
            "role": role,
            "exponent": exponent,
            "signed": used.signed,
            "target": dict(used.target_settings),
        }
        return Embedding(words, vectors, provenance=provenance)


_PLAIN_FIELDS = (
    "tol",
    "signed",
    "outlier",
    "method",
    "products",
    "target_name",
    "target_settings",
)
