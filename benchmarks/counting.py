"""Counting pairs: qwem beside the reference's double loop.

    python benchmarks/counting.py enwiki-36M.parquet

The double loop is what the paper's reference implementation does, compiled with numba: for each
pair, four float32 updates of two dense matrices. GloVe's `cooccur` is a C program; give what it
does on the same machine (`--glove-rate 0.9e6`). Each time is the best of several, 1 and 2 threads
in turn. With `--vocab-sizes`, each vocabulary is counted in a process of its own, which tells its
memory, and the result is a table of cost against vocabulary:

    python benchmarks/counting.py enwiki-36M.parquet --vocab-sizes 10000 30000 100000 300000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from qwem import Cooccurrence, Corpus, threads
from qwem._internal.resources import peak_memory
from qwem.cooccurrence._counting import count_pairs
from qwem.cooccurrence.contexts import window_slots

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 16
REPEATS = 5
LITTLE_MEMORY = 200_000_000


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


def count_on(count: int, corpus: Corpus) -> None:
    with threads(count):
        Cooccurrence.count(corpus, WINDOW)


def compare(path: str, glove_rate: float | None) -> None:
    corpus = encode(path, 10_000)
    tokens = len(corpus.tokens)
    print(f"{tokens:,} tokens, 10,000 words, window {WINDOW}")

    Cooccurrence.count(corpus.documents(0, 10), WINDOW)  # compile
    turns = [[seconds(partial(count_on, n, corpus)) for n in (1, 2)] for _ in range(REPEATS)]
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


def cost_of(
    path: str, vocab_size: int, repeats: int, working_memory: int | None, layout: str
) -> None:
    """Print what counting one vocabulary costs, as a row of JSON."""
    corpus = encode(path, vocab_size)
    slots = window_slots(WINDOW, layout=layout)
    count_pairs(corpus.documents(0, 10), slots, None)  # compile
    taken, processor, memory = [], [], 0
    for _ in range(repeats):
        start = time.process_time()
        work = partial(count_pairs, corpus, slots, None, 2, working_memory=working_memory)
        taken.append(seconds(work))
        processor.append(time.process_time() - start)
        memory = memory or peak_memory()
    pairs = count_pairs(corpus, slots, None, working_memory=working_memory).pairs
    entries, result = sum(each.nnz for each in pairs), sum(each.nbytes for each in pairs)
    row = [len(corpus.vocabulary), entries, result, min(taken), min(processor), memory]
    print(json.dumps(row))


def cost_against_vocabulary(path: str, sizes: list[int], repeats: int, layout: str) -> None:
    """Print a table of the cost of each vocabulary; the last one also in little memory."""
    print(f"window {WINDOW}, 2 threads; GB at most, with the program itself")
    print(
        f"{'words':>10}{'pairs':>14}{'result GB':>11}{'s':>8}{'processor s':>13}{'GB at most':>12}"
    )
    runs = [(size, None) for size in sizes] + [(sizes[-1], LITTLE_MEMORY)]
    for size, working_memory in runs:
        child = [sys.executable, __file__, path, "--cost-of", str(size), "--repeats", str(repeats)]
        child += ["--slots", layout]
        if working_memory:
            child += ["--working-memory", str(working_memory)]
        output = subprocess.run(child, check=True, capture_output=True, text=True).stdout
        words, pairs, result, taken, processor, memory = json.loads(output)
        note = f"  runs on disk, {working_memory / 1e9:g} GB to work in" if working_memory else ""
        print(
            f"{words:>10,}{pairs:>14,}{result / 1e9:>11.2f}{taken:>8.1f}{processor:>13.1f}"
            f"{memory / 1e9:>12.2f}{note}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument(
        "--glove-rate", type=float, help="tokens a second of GloVe's `cooccur` on this machine"
    )
    parser.add_argument("--vocab-sizes", type=int, nargs="+", help="a table of these vocabularies")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--slots", default="sides", help="symmetric, sides or near-far")
    parser.add_argument("--cost-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--working-memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cost_of:
        cost_of(
            options.corpus, options.cost_of, options.repeats, options.working_memory, options.slots
        )
    elif options.vocab_sizes:
        cost_against_vocabulary(options.corpus, options.vocab_sizes, options.repeats, options.slots)
    else:
        compare(options.corpus, options.glove_rate)
