"""Matrices whose rows are not in this process, such as on the workers of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qwem.target.targets import Formula


class EntriesElsewhere(ABC):
    """The entries of a target; see `qwem.target.Target.rest`."""

    dtype: np.dtype[Any]
    is_dense: bool
    """Whether every entry is stored, or only those of pairs that were seen."""
    nbytes: int

    @abstractmethod
    def __matmul__(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Multiply a block of vectors."""

    @abstractmethod
    def toarray(self) -> NDArray[Any]:
        """Return the whole matrix, which is brought here."""


class PairsElsewhere(ABC):
    """Pair counts, which a target can be made of."""

    shape: tuple[int, int]

    @abstractmethod
    def entries(
        self,
        formula: Formula,
        expected: tuple[NDArray[np.float64], NDArray[np.float64]],
        dtype: np.dtype[Any],
        *,
        dense: bool,
    ) -> EntriesElsewhere:
        """Apply a formula to the pairs where they are; see `qwem.target.row_entries`."""
