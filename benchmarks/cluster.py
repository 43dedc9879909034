"""Counting on a cluster of local processes beside one process with as many threads.

    python benchmarks/cluster.py enwiki-36M.parquet --times 10 --workers 1 2

The text is read `--times` times over. Both choose the same words; the clusters' counts must be
equal, bit for bit. Parquet is cut between row groups, and a piece has at least one.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from qwem.cluster import connected, count_files
from qwem.model import Settings, count, read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--piece-bytes", type=int, default=1 << 24)
    options = parser.parse_args()
    settings = Settings(vocab_size=options.vocab_size, tokenizer="ascii", min_tokens=500)
    with TemporaryDirectory() as directory:
        files = []
        for number in range(options.times):
            files.append(Path(directory, f"text-{number}.parquet"))
            files[-1].symlink_to(Path(options.corpus).absolute())
        for workers in options.workers:
            start = time.perf_counter()
            expected = count(read(files, settings, workers), settings, workers)
            alone = time.perf_counter() - start
            print(f"{workers} threads  {alone:7.1f} s", flush=True)
            with connected(workers=workers) as client:
                work = Path(directory, "work")
                start = time.perf_counter()
                found = count_files(client, files, work, settings, piece_bytes=options.piece_bytes)
                seconds = time.perf_counter() - start
                shutil.rmtree(work)
            assert found.vocabulary == expected.vocabulary
            assert (found.pair_counts.tocsr() != expected.pair_counts.tocsr()).nnz == 0
            print(f"{workers} workers  {seconds:7.1f} s  {seconds / alone - 1:+.0%}", flush=True)


if __name__ == "__main__":
    main()
