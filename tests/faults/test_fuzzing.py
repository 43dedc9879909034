"""Any bytes at all: a loader returns something, or raises a `QwemError` of one sentence."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import qwem
from faults.effort import FUZZING_SECONDS, LONG
from in_threads import in_threads
from qwem.embedding import read_vectors, write_vectors
from qwem.errors import QwemError
from qwem.evaluation import read_analogies, read_similarity
from qwem.interpretation import read_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "The king and the queen.\nA cat, a dog – naïve 東京\n" * 3
ANALOGIES = ": family\nking queen man woman\nuncle aunt boy girl\n: verbs\ngo went do did\n"
EXAMPLES = 40


def encode(path: Path) -> Any:
    return in_threads(1, lambda: qwem.Corpus.from_files(path))


def embedding() -> qwem.Embedding:
    rng = np.random.default_rng(0)
    return qwem.Embedding(["the", "king", "naïve", "東京"], rng.normal(size=(4, 3)))


def vectors(path: Path, form: Any) -> bytes:
    write_vectors(embedding(), path, form)
    return path.read_bytes()


def parquet(path: Path) -> bytes:
    pq.write_table(pa.table({"text": TEXT.split("\n")}), path)
    return path.read_bytes()


def zstandard(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


JSON = "".join(json.dumps({"text": line}) + "\n" for line in TEXT.split("\n")).encode()
SEEDS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], bytes]]] = {
    "vectors.txt": (read_vectors, lambda path: vectors(path, "word2vec")),
    "glove.txt": (read_vectors, lambda path: vectors(path, "glove")),
    "vectors.txt.gz": (read_vectors, lambda path: vectors(path, "word2vec")),
    "vectors.bin": (read_vectors, lambda path: vectors(path, "word2vec-binary")),
    "vectors.npz": (read_vectors, lambda path: vectors(path, "npz")),
    "vectors.npy": (read_vectors, lambda path: vectors(path, "npy")),
    "vectors.safetensors": (read_vectors, lambda path: vectors(path, "safetensors")),
    "text.txt": (encode, lambda path: TEXT.encode()),
    "text.txt.gz": (encode, lambda path: gzip.compress(TEXT.encode())),
    "text.txt.bz2": (encode, lambda path: bz2.compress(TEXT.encode())),
    "text.txt.xz": (encode, lambda path: lzma.compress(TEXT.encode())),
    "text.txt.zst": (encode, lambda path: zstandard(TEXT.encode())),
    "text.jsonl": (encode, lambda path: JSON),
    "text.parquet": (encode, parquet),
    "analogies.txt": (read_analogies, lambda path: ANALOGIES.encode()),
    "similarity.txt": (read_similarity, lambda path: b"word1,word2,score\na,b,3.5\nc,d,1\n"),
    "tasks.txt": (read_tasks, lambda path: b"king\tqueen\nman\twoman\n"),
}

INTERESTING = [
    b"\n",
    b" ",
    b"\t",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"nan",
    b"1e999",
    b"-1",
    b"{",
    b"9" * 30,
]
"""Bytes that mean something to one format or another."""

EDITS = st.tuples(
    st.sampled_from(["overwrite", "insert", "delete", "repeat", "truncate"]),
    st.floats(0, 1),
    st.one_of(st.binary(min_size=1, max_size=12), st.sampled_from(INTERESTING)),
)


def mutated(data: bytes, edits: list[tuple[str, float, bytes]]) -> bytes:
    for kind, where, what in edits:
        at = int(where * len(data))
        if kind == "overwrite":
            data = data[:at] + what + data[at + len(what) :]
        elif kind == "insert":
            data = data[:at] + what + data[at:]
        elif kind == "delete":
            data = data[:at] + data[at + len(what) :]
        elif kind == "repeat":
            data = data[:at] + data[at : at + len(what)] * 50 + data[at:]
        else:
            data = data[:at]
    return data


@pytest.mark.parametrize("name", SEEDS)
def test_no_file_breaks_a_loader(
    name: str, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    load, make = SEEDS[name]
    file = tmp_path / name
    intact = make(file)
    file.write_bytes(intact)
    load(file)
    outcomes = {"loaded": 0, "refused": 0}

    def try_one(edits: list[tuple[str, float, bytes]]) -> None:
        file.write_bytes(mutated(intact, edits))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            message = refusal(load, file)
        assert "\n" not in message
        outcomes["refused" if message else "loaded"] += 1

    fuzz(try_one, 0)
    tried = sum(outcomes.values())
    tally(
        f"change {name}", tried, f"{outcomes['refused']:,} refused, {outcomes['loaded']:,} loaded"
    )


@pytest.mark.parametrize("name", SEEDS if LONG else ["tasks.txt"])
def test_no_branch_of_a_loader_breaks(
    name: str, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    """Fuzzing that is guided by which branches a file reaches, from an intact file on."""
    pytest.importorskip("atheris", reason="needs atheris: pip install atheris")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "intact").write_bytes(SEEDS[name][1](tmp_path / name))
    limit = f"-max_total_time={FUZZING_SECONDS // len(SEEDS)}" if LONG else "-runs=300"
    options = [
        str(corpus),
        limit,
        "-timeout=30",
        "-max_len=20000",
        "-print_final_stats=1",
        f"-artifact_prefix={tmp_path}/",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "faults.fuzz_loader", name, str(tmp_path / name), *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert run.returncode == 0, run.stderr[-3000:]
    executed = re.search(r"number_of_executed_units: (\d+)", run.stderr)
    reached = re.findall(r"cov: (\d+)", run.stderr)
    assert executed, run.stderr[-3000:]
    outcome = f"{int(reached[-1]):,} branches reached ({int(reached[0]):,} by an intact file)"
    tally(f"fuzz {name}", int(executed[1]), outcome)


def refusal(load: Callable[[Path], Any], file: Path) -> str:
    """Return the sentence with which a file is refused, or nothing if it is loaded."""
    try:
        load(file)
    except QwemError as error:
        return str(error)
    return ""


def fuzz(try_one: Callable[[list[tuple[str, float, bytes]]], None], number: int) -> None:
    """Try a few dozen changes, the same ones for the same number."""
    run = given(st.lists(EDITS, min_size=1, max_size=4))(try_one)
    run = settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )(run)
    seed(number)(run)()
