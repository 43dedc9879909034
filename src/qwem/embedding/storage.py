"""Vectors as they are stored: in float32, or in float16 for half the space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

StoredType = Literal["float32", "float16"]
"""The number format of stored vectors."""


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
