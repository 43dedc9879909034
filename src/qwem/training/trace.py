"""Trace: the curves and snapshots of a training run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem.corpus import Vocabulary
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

KIND = "trace"
_TABLE = "trace.parquet"
_ARRAYS = "snapshots.safetensors"
_WORDS = "words.txt"
_NAMES = ("vectors", "context_vectors")
ALIGNMENTS = ("alignment", "subspace_alignment")
CURVES = ("steps", "times", "losses", "accuracy", "singular_values", *ALIGNMENTS)
_COLUMNS = {"steps": "step", "times": "time", "losses": "loss"}
"""Names of curves in the table, where they differ."""

Snapshot = tuple["NDArray[Any]", ...]
"""W, or W and W′."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Record of a run, with one row every few steps and one for the last state.

    `times` are the paper's, so closed-form curves can be compared directly; they are NaN for an
    Optax optimizer. `singular_values` are those of W, or the roots of those of WW′ᵀ for an untied
    model, the largest first. `accuracy` is NaN if it was not requested. `snapshots` holds the
    vectors at some of the steps, always including the last.

    If `train` was given a reference spectrum, `alignment` is the squared overlap (v*_k·v_k)² of
    each left singular vector with the eigenvector of the same rank. `subspace_alignment` is the
    part ‖V*_{:k}ᵀ V_{:k}‖²/k of the first k vectors that lies in the span of the first k
    eigenvectors. Both are 1 in the theory, and neither depends on how time is measured.

    >>> from qwem import Cooccurrence
    >>> from qwem.training import population, train
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.5)
    >>> trace = train(trainer, trainer.init(0.1), steps=20, record_every=10)
    >>> trace.steps, trace.singular_values.shape
    (array([ 0, 10, 20]), (3, 1))
    """

    vocabulary: Vocabulary
    settings: Mapping[str, Any] = field(repr=False)
    steps: NDArray[np.int64]
    times: NDArray[np.float64]
    losses: NDArray[np.float64]
    singular_values: NDArray[np.float64] = field(repr=False)
    accuracy: NDArray[np.float64]
    snapshots: Mapping[int, Snapshot] = field(repr=False)
    alignment: NDArray[np.float64] | None = field(default=None, repr=False)
    subspace_alignment: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def vectors(self) -> NDArray[Any]:
        """W of the last step."""
        return self.snapshots[int(self.steps[-1])][0]

    @property
    def context_vectors(self) -> NDArray[Any]:
        """W′ of the last step; W itself if they are tied."""
        return self.snapshots[int(self.steps[-1])][-1]

    def embedding(self, step: int | None = None) -> Embedding:
        """Return the word vectors of a snapshot, by default the last."""
        from qwem.embedding import Embedding

        at = int(self.steps[-1]) if step is None else step
        if at not in self.snapshots:
            raise SettingError(
                f"There is no snapshot of step {at}; choose one of {sorted(self.snapshots)}."
            )
        provenance = {"step": at, "training": dict(self.settings)}
        return Embedding(self.vocabulary, self.snapshots[at][0], provenance=provenance)

    def table(self) -> Any:
        """Return the curves as a pyarrow table."""
        import pyarrow as pa

        curves = {name: getattr(self, name) for name in CURVES}
        return pa.table(
            {
                _COLUMNS.get(name, name): list(curve) if curve.ndim > 1 else curve
                for name, curve in curves.items()
                if curve is not None
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a directory: curves in Parquet, vectors in safetensors."""
        from pyarrow import parquet

        with artefact.writing(path, KIND) as directory:
            parquet.write_table(self.table(), directory / _TABLE)
            arrays = snapshot_arrays(self.snapshots)
            artefact.write_arrays(directory / _ARRAYS, {"counts": self.vocabulary.counts, **arrays})
            artefact.write_words(directory / _WORDS, self.vocabulary.words)
            artefact.write_metadata(directory, KIND, {"settings": dict(self.settings)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace written by `save`."""
        from pyarrow import parquet

        def build(saved: artefact.Saved) -> Trace:
            arrays = saved.arrays(_ARRAYS)
            of_words = {name: "wd" for name in arrays if name != "counts"}
            artefact.require_shapes(arrays, counts="w", **of_words)
            table = parquet.read_table(saved.path(_TABLE))
            columns = {name: _COLUMNS.get(name, name) for name in CURVES}
            curves = {
                name: np.stack(table[column].to_numpy())
                for name, column in columns.items()
                if column in table.column_names or name not in ALIGNMENTS
            }
            return cls(
                vocabulary=Vocabulary(saved.words(_WORDS), arrays["counts"]),
                settings=saved.metadata["settings"],
                snapshots=snapshots_from(arrays),
                **curves,
            )

        return artefact.load(path, KIND, build)


def snapshot_arrays(snapshots: Mapping[int, Snapshot]) -> dict[str, NDArray[Any]]:
    """Return snapshots as named arrays."""
    return {
        f"{name}.{step}": array
        for step, sides in snapshots.items()
        for name, array in zip(_NAMES, sides, strict=False)
    }


def snapshots_from(arrays: Mapping[str, NDArray[Any]]) -> dict[int, Snapshot]:
    """Return the snapshots among named arrays, in the order of their steps."""
    first, second = _NAMES
    steps = sorted(int(name.removeprefix(f"{first}.")) for name in arrays if name.startswith(first))
    return {
        step: tuple(arrays[key] for name in (first, second) if (key := f"{name}.{step}") in arrays)
        for step in steps
    }


def singular_values_of(sides: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the singular values of W, or for W and W′ the roots of those of WW′ᵀ."""
    return _left_factors(sides)[1]


def alignments(
    sides: Sequence[NDArray[Any]], basis: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the alignment of each left singular vector, and of the first k, with a basis V*.

    >>> one, first = alignments([np.array([[1.0, 0.0], [0.0, 2.0]])], np.eye(2))
    >>> one.tolist(), first.tolist()
    ([0.0, 0.0], [0.0, 1.0])
    """
    overlaps = basis.T @ _left_factors(sides)[0]
    inside = np.cumsum(np.cumsum(np.square(overlaps), axis=0), axis=1)
    ranks = np.arange(1, len(overlaps) + 1)
    return np.square(np.diagonal(overlaps)), np.diagonal(inside) / ranks


def _left_factors(
    sides: Sequence[NDArray[Any]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the left singular vectors of W, or of WW′ᵀ, with the singular values.

    They are computed from the triangular factors of W and W′, which keeps small ones accurate.
    """
    bases, factors = zip(
        *(np.linalg.qr(np.asarray(side, dtype=np.float64)) for side in sides), strict=True
    )
    if len(factors) == 1:
        left, values, _ = np.linalg.svd(factors[0])
        return bases[0] @ left, values
    left, squares, _ = np.linalg.svd(factors[0] @ factors[1].T)
    return bases[0] @ left, np.sqrt(squares)
