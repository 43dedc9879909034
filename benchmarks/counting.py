"""Counting pairs: qwem beside the reference's double loop.

    python benchmarks/counting.py enwiki-36M.parquet

The double loop is what the paper's reference implementation does, compiled with numba: for each
pair, four float32 updates of two dense matrices. GloVe's `cooccur` is a C program; give what it
does on the same machine (`--glove-rate 0.9e6`). Each time is the best of several, 1 and 2 threads
in turn; the large vocabulary is counted in a process of its own, to tell its memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from qwem import Cooccurrence, Corpus
from qwem._internal.resources import peak_memory

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 16
REPEATS = 5


@njit
def double_loop(tokens: Any, offsets: Any, weighted: Any, flat: Any) -> None:
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1] - (WINDOW + 1)):
            for j in range(1, WINDOW + 1):
                w, v = tokens[i], tokens[i + j]
                weight = WINDOW + 1 - j
                weighted[w, v] += weight
                weighted[v, w] += weight
                flat[w, v] += 1
                flat[v, w] += 1


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def encode(path: str, vocab_size: int) -> Corpus:
    return Corpus.from_files(path, vocab_size=vocab_size, min_tokens=500, tokenizer="ascii")


def compare(path: str, glove_rate: float | None) -> None:
    corpus = encode(path, 10_000)
    tokens = len(corpus.tokens)
    print(f"{tokens:,} tokens, 10,000 words, window {WINDOW}")

    Cooccurrence.count(corpus.documents(0, 10), WINDOW)  # compile
    turns = [
        [seconds(partial(Cooccurrence.count, corpus, WINDOW, threads=n)) for n in (1, 2)]
        for _ in range(REPEATS)
    ]
    one, two = map(min, zip(*turns, strict=True))
    print(f"qwem, 1 thread       {one:7.2f} s  {tokens / one / 1e6:6.1f} million tokens a second")
    print(f"qwem, 2 threads      {two:7.2f} s  {tokens / two / 1e6:6.1f} million tokens a second")
    print(f"                     speed-up {one / two:.2f}")

    ids, offsets = np.array(corpus.tokens), np.array(corpus.offsets)
    dense = np.zeros((2, 10_000, 10_000), np.float32)
    double_loop(ids, offsets[:2], dense[0], dense[1])  # compile
    loop = min(
        seconds(lambda: double_loop(ids, offsets, dense[0], dense[1])) for _ in range(REPEATS // 2)
    )
    print(f"double loop          {loop:7.2f} s  qwem is {loop / two:.1f} times faster")

    if glove_rate:
        print(f"GloVe's cooccur      qwem is {tokens / two / glove_rate:.1f} times faster")

    child = [sys.executable, __file__, path, "--vocab-size", "100000"]
    print(subprocess.run(child, check=True, capture_output=True, text=True).stdout, end="")
    print(f"                     (10,000 words: {two:.2f} s)")


def large(path: str, vocab_size: int) -> None:
    corpus = encode(path, vocab_size)
    Cooccurrence.count(corpus.documents(0, 10), WINDOW)  # compile
    Cooccurrence.count(corpus, WINDOW, threads=2)
    memory = peak_memory()
    taken = min(
        seconds(lambda: Cooccurrence.count(corpus, WINDOW, threads=2)) for _ in range(REPEATS)
    )
    print(f"qwem, {vocab_size:,} words  {taken:6.2f} s, {memory / 1e9:.2f} GB at most")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument(
        "--glove-rate", type=float, help="tokens a second of GloVe's `cooccur` on this machine"
    )
    parser.add_argument("--vocab-size", type=int, help="only count this vocabulary")
    options = parser.parse_args()
    if options.vocab_size:
        large(options.corpus, options.vocab_size)
    else:
        compare(options.corpus, options.glove_rate)
