"""Text to an encoded corpus: the obvious Python beside qwem, in megabytes of text a second.

Run as ``python benchmarks/reading.py enwiki.parquet``. The peer reads a part of the rows, both
passes: cut all documents into words and count them, then look every word up. Peak memory is that
of a fresh process that does nothing else.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from qwem import Corpus, threads

PEAK = """
import sys
from qwem import Corpus
from qwem._internal.resources import peak_memory, threads
with threads(int(sys.argv[3])):
    Corpus.from_files(sys.argv[1], tokenizer=sys.argv[2], vocab_size={vocab_size},
                      min_tokens={min_tokens})
print(peak_memory())
"""


def python_peer(texts: list[str], vocab_size: int, min_tokens: int) -> list[np.ndarray]:
    word = re.compile("[a-z]+")
    counts: Counter[str] = Counter()
    for text in texts:
        words = word.findall(text.lower())
        if len(words) >= min_tokens:
            counts.update(words)
    index = {w: i for i, (w, _) in enumerate(counts.most_common(vocab_size))}
    encoded = []
    for text in texts:
        words = word.findall(text.lower())
        if len(words) >= min_tokens:
            encoded.append(np.array([index[w] for w in words if w in index], dtype=np.uint16))
    return encoded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--min-tokens", type=int, default=500)
    parser.add_argument("--peer-rows", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    start = time.perf_counter()
    rows = pq.ParquetFile(options.path).iter_batches(options.peer_rows, columns=["text"])
    texts = next(rows).column("text").to_pylist()
    python_peer(texts, options.vocab_size, options.min_tokens)
    elapsed = time.perf_counter() - start
    peer = sum(len(text.encode()) for text in texts) / elapsed / 1e6
    print(f"{'what':24}{'MB/s':>8}{'ratio':>8}{'peak MB':>10}")
    print(f"{'python, 1 thread':24}{peer:8.1f}{1:8.1f}")

    for tokenizer in ("ascii", "letters"):
        for count in (1, 2):
            speed = 0.0
            for _ in range(options.repeats + 1):  # the first may compile
                start = time.perf_counter()
                with threads(count):
                    corpus = Corpus.from_files(
                        options.path,
                        tokenizer=tokenizer,
                        vocab_size=options.vocab_size,
                        min_tokens=options.min_tokens,
                    )
                elapsed = time.perf_counter() - start
                speed = max(speed, corpus.settings["text_bytes"] / elapsed / 1e6)
            code = PEAK.format(vocab_size=options.vocab_size, min_tokens=options.min_tokens)
            command = [sys.executable, "-c", code, str(options.path), tokenizer, str(count)]
            peak = int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            name = f"qwem {tokenizer}, {count} threads"
            print(f"{name:24}{speed:8.1f}{speed / peer:8.1f}{peak / 1e6:10.0f}")
        read = corpus.settings
        print(
            f"  {tokenizer}: {read['documents_kept']:,} of {read['documents_read']:,} documents, "
            f"{read['words_counted']:,} words"
        )


if __name__ == "__main__":
    main()
