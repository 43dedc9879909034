"""Memory of arrays that are mapped from files."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def release(array: NDArray[Any]) -> None:
    """Give back the memory of a mapped array, or of a part of one; the file is read when needed.

    Otherwise pages that were read stay in this process's memory until the system runs short of it.
    Does nothing for arrays that are not mapped, or that may have been changed.
    """
    mapped: Any = getattr(array, "_mmap", None)
    if mapped is None or getattr(array, "mode", None) != "r" or not hasattr(mapped, "madvise"):
        return
    first, stop = np.lib.array_utils.byte_bounds(array)
    start = np.frombuffer(mapped, np.uint8).ctypes.data
    first = (first - start) // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, stop - start - first)
