"""What the bytes of a file are: text in some encoding, or something that is refused."""

from __future__ import annotations

import codecs
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from qwem.corpus._files import open_stream
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from qwem.corpus._files import RemoteFile
    from qwem.corpus.reading import Errors

_HEAD_BYTES = 1 << 16

_UNPACK = "unpack it and give the files in it"
_AS_TEXT = "save it as plain text"
_IMAGE = "an image", "recognize its text with another program"
_EXECUTABLE = "an executable program", "give text"
_NOT_TEXT: list[tuple[bytes, str, str]] = [
    (
        b"PK\x03\x04",
        "a ZIP archive, as .docx, .odt, .epub and .xlsx files are too",
        "unpack it, or save the document as plain text or the table as CSV",
    ),
    (b"%PDF-", "a PDF", "extract its text first, for example by pdftotext"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old document of Microsoft Office", _AS_TEXT),
    (b"{\\rtf", "a document in rich text", _AS_TEXT),
    (b"SQLite format 3\0", "an SQLite database", "export a query of it as CSV"),
    (b"\x89PNG\r\n", *_IMAGE),
    (b"\xff\xd8\xff", *_IMAGE),
    (b"GIF87a", *_IMAGE),
    (b"GIF89a", *_IMAGE),
    (b"II*\0", *_IMAGE),
    (b"MM\0*", *_IMAGE),
    (b"\x7fELF", *_EXECUTABLE),
    (b"\xcf\xfa\xed\xfe", *_EXECUTABLE),
    (b"MZ\x90\0", *_EXECUTABLE),
    (b"\x1f\x8b", "compressed by gzip", "end its name in .gz"),
    (b"\xfd7zXZ\0", "compressed by xz", "end its name in .xz"),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard", "end its name in .zst"),
    (b"BZh91AY&SY", "compressed by bzip2", "end its name in .bz2"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a", "a RAR archive", _UNPACK),
    (b"PAR1", "Parquet", "end its name in .parquet"),
    (b"ARROW1\0\0", "an Arrow file", "write it as Parquet"),
    (b"\x89HDF\r\n", "an HDF5 file", "write its text as Parquet or CSV"),
]
_MARKUP = (b"<!doctype html", b"<html", b"<?xml", b"<mediawiki")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class TextStream(io.RawIOBase):
    """A stream of bytes of which the beginning is known before it is read."""

    def __init__(self, stream: Any, bytes_read: Callable[[], int]) -> None:
        self._stream = stream
        self.bytes_read = bytes_read
        """How many bytes of the file were read."""
        pieces: list[bytes] = []
        while (missing := _HEAD_BYTES - sum(map(len, pieces))) > 0:
            if not (piece := stream.read(missing)):
                break
            pieces.append(piece)
        self.head = b"".join(pieces)
        """The first bytes."""
        self._waiting = self.head

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, and none at the end."""
        if not self._waiting:
            return cast("bytes", self._stream.read(size))
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return data + self._stream.read(size - len(data)) if len(data) < size else data


class _Decoder:
    """The UTF-8 of a stream in another encoding."""

    def __init__(
        self, stream: TextStream, encoding: str, errors: Errors, path: Path | RemoteFile
    ) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._refusal = f"{path} is not valid {encoding}"
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, and none at the end."""
        while not self._waiting:
            data = self._stream.read(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise CorpusError(
                    f"{self._refusal}: {error.reason}; give the `encoding` in which it was "
                    "written, or pass `errors='replace'`."
                ) from error
            self._waiting = text.encode("utf-8", "replace")
            if not data:
                break
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return data


@contextmanager
def open_text(
    path: Path | RemoteFile,
    encoding: str,
    errors: Errors = "strict",
    part: tuple[int, int] | None = None,
) -> Iterator[TextStream]:
    """Yield a file as UTF-8, which is not checked if the file has it; refuse what is not text.

    A byte order mark of UTF-16 or UTF-32 goes before `encoding`.
    """
    encoding = codec_name(encoding)
    with open_stream(path, part) as (stream, bytes_read):
        text = TextStream(stream, bytes_read)
        if part is None or not part[0]:
            encoding = _marked(text.head) or encoding
            _require_text(text.head, encoding, path)
        if encoding != "utf-8":
            text = TextStream(_Decoder(text, encoding, errors, path), bytes_read)
        yield text


def codec_name(encoding: str) -> str:
    """Return the usual name of an encoding, or refuse it."""
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError) as error:
        raise SettingError(
            f"`encoding` must be the name of one, such as 'utf-8', 'latin-1', 'cp1252' or "
            f"'utf-16', not {encoding!r}."
        ) from error


def lines_are_bytes(path: Path | RemoteFile, encoding: str) -> bool:
    r"""Return whether the lines of a file end wherever there is the byte ``\n``."""
    with open_stream(path) as (stream, _):
        name = _marked(stream.read(4)) or codec_name(encoding)
    return not name.startswith(("utf-16", "utf-32"))


def _marked(head: bytes) -> str | None:
    """Return the encoding that a byte order mark says, other than UTF-8."""
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)


def _require_text(head: bytes, encoding: str, path: Path | RemoteFile) -> None:
    for magic, what, remedy in _NOT_TEXT:
        if head.startswith(magic):
            raise CorpusError(f"{path} is {what}, not text; {remedy}.")
    if head[257:262] == b"ustar":
        raise CorpusError(f"{path} is a tar archive, not text; {_UNPACK}.")
    if head[:1024].removeprefix(codecs.BOM_UTF8).lstrip().lower().startswith(_MARKUP):
        raise CorpusError(
            f"{path} is HTML or XML, whose tags would be read as words; strip them first, for "
            "example by pandoc or BeautifulSoup."
        )
    if b"\0" in head and not encoding.startswith(("utf-16", "utf-32")):
        halves = [head[start::2].count(0) for start in (0, 1)]
        if 4 * max(halves) > len(head) / 2 and 8 * min(halves) <= max(halves):
            order = "be" if halves[0] > halves[1] else "le"
            raise CorpusError(f"{path} looks like UTF-16; pass `encoding='utf-16-{order}'`.")
        raise CorpusError(
            f"{path} has NUL bytes in it, which text has not; remove them, or convert the file to "
            "text first."
        )
