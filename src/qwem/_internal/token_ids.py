"""The type of token ids, in memory and on disk."""

from __future__ import annotations

from typing import Any

import numpy as np


def id_dtype(ids: int) -> np.dtype[Any]:
    """Return the type of token ids below `ids`."""
    return np.dtype("<u2" if ids <= 1 << 16 else "<u4")
