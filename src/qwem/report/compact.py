"""Matrices rounded to integers with one scale per column, to be embedded in a page."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def quantized(matrix: NDArray[np.floating], bits: Literal[8, 16]) -> dict[str, Any]:
    """Return a matrix as base64 of little-endian integers, row by row, and its columns' scales.

    The largest number of a column becomes 127 or 32,767, so that the rounding error is at most half
    a scale. Columns have their own scales because eigen-features differ in size by an order of
    magnitude: with one scale, most of them would be left with a few different values.

    >>> base64.b64decode(quantized(np.array([[1.0, 0.1], [-1.0, 0.0]]), 8)["data"]).hex(" ")
    '7f 7f 81 00'
    """
    largest = 2 ** (bits - 1) - 1
    scales = np.abs(matrix).max(axis=0).astype(np.float64) / largest
    scales[scales == 0] = 1.0
    whole = np.rint(matrix / scales).astype(f"<i{bits // 8}")
    return {
        "bits": bits,
        "columns": matrix.shape[1],
        "scales": scales.tolist(),
        "data": base64.b64encode(whole.tobytes()).decode("ascii"),
    }
