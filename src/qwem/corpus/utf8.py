"""UTF-8 validation: text that is not valid is refused or repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import CorpusError

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.corpus.reading import Errors
    from qwem.corpus.remote import RemoteFile

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def valid_bytes(data: bytes, errors: Errors, path: Path | RemoteFile, position: int) -> bytes:
    """Return valid `data`, found at `position` in a file, without a byte order mark at its start.

    ``errors="replace"`` puts U+FFFD where `bytes.decode` would.
    """
    if not _is_valid(data):
        if errors == "strict":
            start = _first_error(data)
            raise CorpusError(
                f"{path} is not valid UTF-8 at byte {position + start} (0x{data[start]:02x}); "
                "convert it to UTF-8, or pass `errors='replace'` to put U+FFFD there."
            )
        data = data.decode("utf-8", "replace").encode("utf-8")
    return data.removeprefix(_BYTE_ORDER_MARK) if position == 0 else data


def valid_array(array: Any, errors: Errors, place: str, row: int) -> Any:
    """Return a valid Arrow array of text, whose first entry is `row` of the column `place`."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = array.type.value_type if kinds.is_dictionary(array.type) else array.type
    if not (kinds.is_string(kind) or kinds.is_large_string(kind)):
        raise CorpusError(f"The column {place} holds {kind}, not text.")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        rows = [value.as_py() or b"" for value in array.cast(pa.large_binary())]
        if errors == "replace":
            return pa.array([text.decode("utf-8", "replace") for text in rows], pa.large_string())
        bad = next(i for i, text in enumerate(rows) if not _is_valid(text))
        raise CorpusError(
            f"Row {row + bad} of {place} is not valid UTF-8 at its byte "
            f"{_first_error(rows[bad])}; pass `errors='replace'` to put U+FFFD there."
        ) from None
    return array


def valid_text(text: str) -> str:
    """Return `text` with "?" for each half of a surrogate pair, which UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_valid(data: bytes) -> bool:
    """Return whether these bytes are UTF-8; Arrow is faster than decoding and frees the GIL."""
    import pyarrow as pa

    offsets = np.array([0, len(data)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _first_error(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    raise AssertionError("valid UTF-8 has no error")
