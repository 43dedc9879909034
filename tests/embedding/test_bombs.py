"""Files that are far larger than they look are refused, or read in bounded memory."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.embedding import read_vectors, word2vec_files
from qwem.errors import DataError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes << 20
    finally:
        tracemalloc.stop()


def npy_header(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    file = io.BytesIO()
    header = {"shape": shape, "fortran_order": False, "descr": dtype}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def test_blank_lines_take_no_memory(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        for _ in range(64):
            out.write(b"\n" * (1 << 20))
    with at_most(32), pytest.raises(DataError, match="contains no vectors"):
        read_vectors(file)


@pytest.mark.parametrize("form", ["glove", "word2vec"])
def test_a_line_without_an_end_is_refused(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word2vec_files, "_LONGEST_LINE", 1 << 23)
    file = tmp_path / "vectors.txt.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(b"2 3\n" if form == "word2vec" else b"a 1 2\n")
        for _ in range(64):
            out.write(b"1" * (1 << 20))
    with at_most(64), pytest.raises(DataError, match=r"line 2: the line has more than 8,388,608"):
        read_vectors(file, form)  # type: ignore[arg-type]


def test_a_binary_word_without_an_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vectors.bin.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(b"10 3\n")
        for _ in range(128):
            out.write(b"a" * (1 << 20))
    with at_most(64), pytest.raises(DataError, match="byte 5: word 1 has no end"):
        read_vectors(file, "word2vec-binary")


@pytest.mark.parametrize("suffix", ["npy", "npy.gz"])
def test_an_array_larger_than_memory_is_refused(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"vectors.{suffix}"
    content = npy_header((10**12, 100)) + bytes(100)
    file.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    with at_most(8), pytest.raises(MemoryLimitError, match=r"would need 400000\.0 GB"):
        read_vectors(file)


def test_an_archive_that_states_more_than_it_has_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    words = io.BytesIO()
    np.save(words, np.array(["a", "b"]))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("words.npy", words.getvalue())
        archive.writestr("vectors.npy", npy_header((2, 10**10)) + bytes(1000))
    with at_most(8), pytest.raises(DataError, match="damaged or pickled"):
        read_vectors(file)


def test_arrays_that_are_not_asked_for_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    np.savez_compressed(
        file, words=np.array(["a", "b"]), vectors=np.eye(2), other=np.zeros(1 << 24)
    )
    with at_most(8):
        assert read_vectors(file).index_to_key == ("a", "b")
