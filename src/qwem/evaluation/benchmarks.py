"""Benchmark files: in gensim's package, in the cache, or on the network."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

from qwem._internal.files import writing_file
from qwem.errors import DataError

_TIMEOUT_SECONDS = 30


class _Benchmark(NamedTuple):
    """A benchmark file: its name, its SHA-256, and its address."""

    file: str
    sha256: str | None = None
    url: str | None = None
    in_gensim: bool = False


_GENSIM = "https://raw.githubusercontent.com/piskvorky/gensim"
_BENCHMARKS = {
    "google": _Benchmark(
        "questions-words.txt",
        "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
        "https://raw.githubusercontent.com/tmikolov/word2vec/master/questions-words.txt",
        in_gensim=True,
    ),
    "wordsim353": _Benchmark(
        "wordsim353.tsv",
        "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
        f"{_GENSIM}/66365f6a2688e32ada86d5f005d550d4b4f8a137/gensim/test/test_data/wordsim353.tsv",
        in_gensim=True,
    ),
    "simlex999": _Benchmark(
        "simlex999.txt",
        "d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
        f"{_GENSIM}/57b3f68b18074a894585106bb4267031619b1350/gensim/test/test_data/simlex999.txt",
        in_gensim=True,
    ),
    # Published in archives or on pages that have moved: users put them into the cache.
    "men": _Benchmark("men.txt"),
    "rareword": _Benchmark("rw.txt"),
    "simverb3500": _Benchmark("SimVerb-3500.txt"),
    "mturk771": _Benchmark("MTURK-771.csv"),
    "msr": _Benchmark("word_relationship.questions"),
}

BENCHMARKS = tuple(_BENCHMARKS)
"""The names that `benchmark_file` knows."""


def benchmark_file(
    name: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
) -> Path:
    """Return the path of a benchmark's file, fetching it if necessary and possible.

    The file is looked for in the cache directory and then in gensim's package. Otherwise it is
    fetched into the cache directory, if it has an address and the right checksum.

    Parameters
    ----------
    name
        One of `BENCHMARKS`, or the path of a file, which is returned unchanged.
    cache
        The cache directory; by default ``qwem`` in the user's cache directory.

    >>> benchmark_file("google").name
    'questions-words.txt'
    """
    benchmark = _BENCHMARKS.get(str(name))
    if benchmark is None:
        if Path(name).exists():
            return Path(name)
        raise DataError(
            f"{name} is neither a file nor a benchmark; the benchmarks are {', '.join(BENCHMARKS)}."
        )
    cached = (_user_cache() if cache is None else Path(cache)) / benchmark.file
    if cached.is_file():
        return cached
    in_gensim = _gensim_copy(benchmark)
    if in_gensim is not None:
        return in_gensim
    _download(benchmark, cached)
    return cached


def available_benchmark(name: str | os.PathLike[str]) -> Path | None:
    """Return the path of a benchmark's file, or None if it would have to be fetched.

    A path is returned as `benchmark_file` does, which raises an error if there is no such file.

    >>> available_benchmark("google").name
    'questions-words.txt'
    """
    benchmark = _BENCHMARKS.get(str(name))
    if benchmark is None:
        return benchmark_file(name)
    cached = _user_cache() / benchmark.file
    return cached if cached.is_file() else _gensim_copy(benchmark)


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qwem"


def _gensim_copy(benchmark: _Benchmark) -> Path | None:
    """Return the file in gensim's test data, without importing gensim, which takes seconds."""
    found = importlib.util.find_spec("gensim") if benchmark.in_gensim else None
    for location in (found and found.submodule_search_locations) or ():
        file = Path(location) / "test" / "test_data" / benchmark.file
        if file.is_file():
            return file
    return None


def _download(benchmark: _Benchmark, target: Path) -> None:
    by_hand = f"put it at {target}"
    if benchmark.url is None:
        raise DataError(f"There is no stable address to fetch {benchmark.file} from; {by_hand}.")
    try:
        with urllib.request.urlopen(benchmark.url, timeout=_TIMEOUT_SECONDS) as answer:
            contents: bytes = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise DataError(
            f"{benchmark.file} can't be fetched from {benchmark.url} ({error}); {by_hand}."
        ) from error
    found = hashlib.sha256(contents).hexdigest()
    if found != benchmark.sha256:
        raise DataError(
            f"{benchmark.url} has changed: its SHA-256 is {found}, not {benchmark.sha256}; "
            f"{by_hand} if you trust it."
        )
    with writing_file(target) as file:
        file.write(contents)
