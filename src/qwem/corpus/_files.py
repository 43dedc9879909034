"""Input files: find them, open them, decode their text, and refuse what is not text."""

from __future__ import annotations

import bz2
import codecs
import csv
import glob
import gzip
import io
import lzma
import os
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from qwem._internal.artefact import kind_of
from qwem._internal.files import file_states, is_url, without_secrets
from qwem._internal.results import one_line
from qwem.errors import ArtefactError, CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from qwem.corpus._remote import RemoteFile
    from qwem.corpus.reading import Errors, Reading

PathLike = str | os.PathLike[str]

_FORMATS = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite",
}  # fmt: skip
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}
_LONGEST_NAME = 4096
_LONGEST_PART = 255  # bytes of a file's own name, in nearly all file systems
_FILE_NAME = re.compile(r"\S+\.(txt|text|json|jsonl|ndjson|parquet|csv|tsv|md)(\.\w+)?")
"""No space, and the extension of a text file."""
_FEWEST_TABLE_LINES, _TABLE_LINES = 5, 100  # lines in which a table is recognized
_WRAPPED_LINES = 10  # the fewest lines in which wrapping is recognized
_WIDTHS = 40, 132  # the smallest and largest width of wrapped lines
_SENTENCE_ENDS = '.!?…:;"”»'
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
    (b"SQLite format 3\0", "an SQLite database", "end its name in .sqlite"),
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
_COMMENTS = re.compile(rb"\A(\s*<!--.*?-->)+", re.DOTALL)
_HTML = (".html", ".htm", ".xhtml", ".xml")
_MARKUP = (b"<!doctype html", b"<html", b"<?xml", b"<mediawiki")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16: it begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class InputFile:
    """A file to read; `named` if the user gave its name, rather than a directory or pattern."""

    path: Path | RemoteFile
    named: bool
    shard: tuple[int, int] | None = None
    """The row groups of Parquet, or the bytes of plain text, to read; None for all. In a shard of
    plain text each line is a document, and belongs to the shard in which it begins."""

    @property
    def compressed(self) -> bool:
        """Whether the whole file is compressed, judged by its name."""
        return self.path.suffix.lower() in _COMPRESSED

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        if self.shard is None or self.format == "parquet":
            return self.path.stat().st_size if isinstance(self.path, Path) else self.path.size
        return self.shard[1] - self.shard[0]

    @property
    def state(self) -> list[Any]:
        """The name, size and version of the file, which change when the file does."""
        if isinstance(self.path, Path):
            return file_states([self.path])
        return [str(self.path), self.path.size, self.path.version]

    @property
    def format(self) -> str:
        """The format, judged by the name: text, json, csv, tsv, parquet or sqlite."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] in _COMPRESSED:
            suffixes.pop()
        return _FORMATS.get(suffixes[-1], "text") if suffixes else "text"


def are_paths(source: Any) -> bool:
    """Return whether `source` is a path or a list of paths; strings are paths if all exist."""
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(item, str) for item in source):
        return all(isinstance(item, os.PathLike) for item in source)
    missing = next((item for item in source if not (is_url(item) or os.path.exists(item))), None)
    if missing is not None and all(map(_FILE_NAME.fullmatch, source)):
        raise CorpusError(
            f"{missing} does not exist, and all strings given look like file names; give paths "
            "that exist, or documents of more than one word."
        )
    return missing is None


def find_files(paths: PathLike | Iterable[PathLike]) -> list[InputFile]:
    """Return the files of paths, directories, patterns and URLs.

    Directories are searched recursively, and the files found are sorted. Hidden files and
    directories that qwem saved are skipped.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    for path in several:
        _require_name(os.fspath(path))
    if any(os.fspath(path) == "" for path in several):
        raise CorpusError("One of the paths is empty; give the name of a file or directory.")
    files = [file for path in several for file in _expand(path)]
    if not files:
        raise CorpusError("There is no file to read: the list of paths is empty.")
    return files


def _require_name(path: str) -> None:
    """Refuse text given in place of a file name."""
    longest = max(len(os.fsencode(part)) for part in path.split(os.sep))
    if (
        len(path) > _LONGEST_NAME
        or (longest > _LONGEST_PART and not is_url(path))
        or any(letter in path for letter in "\n\r\0")
    ):
        raise CorpusError(
            f"A string of {len(path):,} characters can't be the name of a file; give text as a "
            "list of documents, such as text.splitlines()."
        )


@contextmanager
def open_stream(
    path: Path | RemoteFile, shard: tuple[int, int] | None = None
) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Yield a file's decompressed stream, and a function that returns how many bytes were read.

    With a `shard`, the stream has the lines that begin in it. A compressed file that is damaged or
    truncated raises `CorpusError`.
    """
    try:
        with path.open("rb") if isinstance(path, Path) else path.open() as raw:
            if shard is not None:
                first, last = (_start_of_line(raw, place) for place in shard)
                raw.seek(first)
                yield cast("IO[bytes]", _Section(raw, last - first)), lambda: raw.tell() - first
                return
            stream = _decompressed(raw, path.suffix.lower())
            with stream:
                yield stream, raw.tell if raw.seekable() else lambda: 0
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path} is damaged or cut short: {error}.") from error
    except OSError as error:
        raise _unreadable(path, "", error.strerror or error) from _cause(path, error)


@contextmanager
def open_parquet(path: Path | RemoteFile) -> Iterator[Any]:
    """Yield a local or remote Parquet file; one that can't be read raises `CorpusError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if isinstance(path, Path):
            with pq.ParquetFile(path, memory_map=True) as table:
                yield table
        else:
            with path.open() as raw, pq.ParquetFile(raw, pre_buffer=True) as table:
                yield table
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, " as Parquet", error) from _cause(path, error)


def documents_of(head: bytes, file: InputFile, reading: Reading) -> str:
    """Return what a document is in a file of plain text: "line", "paragraph" or "file"."""
    if file.shard is not None:
        return "line"
    if reading.documents != "auto":
        return reading.documents
    return "paragraph" if is_wrapped(head.decode("utf-8", "replace")) else "line"


def is_wrapped(text: str) -> bool:
    """Return whether the lines of a text are wrapped at some width, as they often are in books.

    A wrapped line is full: the first word of the next line would not have fitted on it. And most
    wrapped lines end within a sentence.

    >>> import textwrap
    >>> is_wrapped(textwrap.fill("The king and the queen have a cat, a dog and a horse. " * 20, 60))
    True
    """
    lines = [line.rstrip() for line in text.split("\n")[:-1]]
    inner = [  # lines of a paragraph but the last, which an empty or indented line follows
        (line, following.partition(" ")[0])
        for line, following in pairwise(lines)
        if line and following and not following[0].isspace()
    ]
    if len(inner) < _WRAPPED_LINES:
        return False
    lengths = sorted(len(line) for line, _ in inner)
    width = lengths[int(0.95 * len(lengths))]
    full = sum(len(line) + 1 + len(word) >= width for line, word in inner)
    ended = sum(line[-1] in _SENTENCE_ENDS for line, _ in inner)
    least, most = _WIDTHS
    return (
        least <= width <= most
        and 4 * full >= 3 * len(inner)
        and 2 * ended < len(inner)
        and 2 * lengths.count(width) < len(inner)  # otherwise lines were cut off at this width
    )


def looks_like_table(head: bytes) -> bool:
    r"""Return whether the lines at the start of a file are JSON, or have equally many cells.

    >>> looks_like_table(b"id\ttext\n" + b"1\tthe king\n" * 5)
    True
    >>> looks_like_table(b"the\rking\n" * 5)
    False
    """
    lines = [line.strip() for line in head.decode("utf-8", "replace").split("\n")[:_TABLE_LINES]]
    lines = [line for line in lines[:-1] if line]
    if len(lines) < _FEWEST_TABLE_LINES:
        return False
    if all(line.startswith('{"') for line in lines):
        return True
    for delimiter, fewest in (("\t", 2), (",", 3), (";", 3)):
        try:
            sizes = {len(row) for row in csv.reader(lines, delimiter=delimiter)}
        except csv.Error:  # such as a line with a carriage return in it
            return False
        if len(sizes) == 1 and sizes.pop() >= fewest:
            return True
    return False


def _unreadable(path: Path | RemoteFile, how: str, error: object) -> CorpusError:
    reason = one_line(without_secrets(str(error)))
    return CorpusError(f"{path} can't be read{how}: {reason}.")


def _cause(path: Path | RemoteFile, error: Exception) -> Exception | None:
    """Return the error to chain, or None if its message may contain a URL with secrets."""
    return error if isinstance(path, Path) else None


class _Section:
    """A stream of the next `size` bytes of a file."""

    def __init__(self, raw: IO[bytes], size: int) -> None:
        self._raw = raw
        self._left = size

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, and none at the end."""
        data = self._raw.read(min(size, self._left))
        self._left -= len(data)
        return data


def _start_of_line(raw: IO[bytes], place: int) -> int:
    """Return the start of the first line that begins at `place` or later."""
    if not place:
        return 0
    raw.seek(place - 1)
    raw.readline()
    return raw.tell()


def _decompressed(raw: IO[bytes], suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    if suffix == ".xz":
        return lzma.LZMAFile(raw)
    if suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return raw


def _is_saved(directory: Path) -> bool:
    """Return whether qwem saved this directory: then it holds results, not text."""
    try:
        return kind_of(directory) is not None
    except ArtefactError:  # metadata of another program
        return False


def _expand(name: PathLike) -> Iterator[InputFile]:
    if is_url(name):
        from qwem.corpus._remote import find_remote

        remote, named = find_remote(os.fspath(name))
        yield from (InputFile(file, named=named) for file in remote)
        return
    path = Path(name)
    if path.is_dir():
        found = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
        )
        saved = {file.parent for file in found if _is_saved(file.parent)}
        found = [file for file in found if saved.isdisjoint(file.parents)]
        if not found:
            raise CorpusError(f"The directory {path} has no files in it.")
        yield from (InputFile(file, named=False) for file in found)
    elif path.exists():
        yield InputFile(path, named=True)
    elif glob.has_magic(str(path)):
        matches = sorted(glob.glob(str(path), recursive=True))
        if not matches:
            raise CorpusError(f"No file matches the pattern {path}.")
        for match in matches:
            if Path(match).is_file():
                yield InputFile(Path(match), named=False)
    else:
        advice = (
            "; give text as a list of documents" if " " in path.name and not path.suffix else ""
        )
        raise CorpusError(f"There is no file or directory {path}{advice}.")


class TextStream(io.RawIOBase):
    """A stream of bytes whose beginning can be inspected before reading."""

    def __init__(self, stream: Any, bytes_read: Callable[[], int], encoding: str) -> None:
        self._stream = stream
        self.bytes_read = bytes_read
        """Returns how many bytes of the file were read."""
        self.encoding = encoding
        """The encoding of the file; the stream of `open_text` is always UTF-8."""
        head = b""
        while len(head) < _HEAD_BYTES and (data := stream.read(_HEAD_BYTES - len(head))):
            head += data
        self.head = head
        """The first bytes."""
        self._waiting = head

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
    """A stream that converts another encoding to UTF-8."""

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
def open_text(file: InputFile, reading: Reading) -> Iterator[TextStream]:
    """Yield a file as UTF-8; refuse what is not text.

    A file that is in UTF-8 already is not checked. A byte order mark of UTF-16 or UTF-32 takes
    precedence over the `encoding` of `reading`.
    """
    path, encoding = file.path, codec_name(reading.encoding)
    with open_stream(path, file.shard) as (stream, bytes_read):
        text = TextStream(stream, bytes_read, encoding)
        if file.shard is None or not file.shard[0]:
            encoding = text.encoding = _marked(text.head) or encoding
            _require_text(text.head, encoding, path)
        if encoding != "utf-8":
            decoder = _Decoder(text, encoding, reading.errors, path)
            text = TextStream(decoder, bytes_read, encoding)
        yield text


def codec_name(encoding: str) -> str:
    """Return the standard name of an encoding; refuse an unknown one."""
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError) as error:
        raise SettingError(
            f"`encoding` must be the name of an encoding, such as 'utf-8', 'latin-1', 'cp1252' or "
            f"'utf-16', not {encoding!r}."
        ) from error


def _marked(head: bytes) -> str | None:
    """Return the encoding that a byte order mark declares; None for UTF-8 or without a mark."""
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)


def _require_text(head: bytes, encoding: str, path: Path | RemoteFile) -> None:
    for magic, what, remedy in _NOT_TEXT:
        if head.startswith(magic):
            raise CorpusError(f"{path} is {what}, not text; {remedy}.")
    if head[257:262] == b"ustar":
        raise CorpusError(f"{path} is a tar archive, not text; {_UNPACK}.")
    start = _COMMENTS.sub(b"", head.removeprefix(codecs.BOM_UTF8))[:1024].lstrip().lower()
    if start.startswith(_MARKUP) or (start.startswith(b"<") and path.suffix.lower() in _HTML):
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
            f"{path} has NUL bytes in it, so it is not text; remove them, or convert the file to "
            "text first."
        )
