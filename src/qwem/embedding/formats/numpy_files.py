"""Arrays from NumPy files of any origin: nothing is unpickled, and memory is asked for first."""

from __future__ import annotations

import math
import zipfile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import require_memory
from qwem.errors import DataError, QwemError

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from numpy.typing import NDArray

_ZIP_MAGIC = b"PK"


def load_arrays(
    path: str | os.PathLike[str], file: BinaryIO, names: tuple[str, ...] = ("words", "vectors")
) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """Return the array of an open .npy file, or those arrays of a .npz file that have these names.

    An array that is larger than its file says, or than memory, is refused before it is read.
    """
    try:
        archive = file.read(2) == _ZIP_MAGIC
        file.seek(0)
        if archive:
            with zipfile.ZipFile(file) as members:
                return _load_members(path, members, names)
        _require(path, _bytes_of_array(file))
        file.seek(0)
        array: NDArray[Any] = np.load(file, allow_pickle=False)
    except (QwemError, MemoryError, OSError):
        raise
    except Exception as error:  # whatever NumPy and zipfile make of a damaged file
        raise DataError(f"{path} is damaged or pickled ({error}); make it again.") from error
    return array


def _load_members(
    path: str | os.PathLike[str], members: zipfile.ZipFile, names: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    present = {name: f"{name}.npy" for name in names if f"{name}.npy" in members.namelist()}
    _require(path, sum(members.getinfo(member).file_size for member in present.values()))
    arrays = {}
    for name, member in present.items():
        with members.open(member) as file:
            if _bytes_of_array(file) > members.getinfo(member).file_size:
                raise ValueError(f"{name} is cut short")
        with members.open(member) as file:
            arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays


def _bytes_of_array(file: IO[bytes]) -> int:
    """Return the size that the header of a .npy file states."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    return math.prod(shape) * int(dtype.itemsize)


def _require(path: str | os.PathLike[str], size: int) -> None:
    require_memory(size, f"Reading {path}", "make a smaller file, or use a larger machine")
