"""SplitMix64, a random number generator for compiled loops: a hash of a key and a position."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.compilation import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step between successive states."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(nogil=True, cache=True)
def mix(x: Any) -> Any:
    """Scramble 64 bits (the final step of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))
