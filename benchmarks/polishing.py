"""Polishing: scores after each sweep, and how far the loops are from what the machine could do.

    python benchmarks/polishing.py enwiki-36M.parquet --analogies google-analogies.txt \
        --similarity men.txt wordsim353.tsv [--vocab-size 10000]

By default every word seen at least five times, dimension 200, window 5, subsampling 1e-3, 5
negatives, from the closed form of the practical preset. Give ``demo`` for the demo's text.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem import Cooccurrence, Corpus, evaluate, fit
from qwem.cli.demo import demo_documents
from qwem.polish import Polished, polish

if TYPE_CHECKING:
    from qwem import Embedding


class Scores:
    """Prints what an embedding scores, leaving out of the time what scoring takes."""

    def __init__(self, analogies: str | None, similarity: list[str]) -> None:
        self.analogies, self.similarity = analogies, similarity
        self.start = time.perf_counter()
        self.seconds: list[float] = []

    def show(self, name: str, embedding: Embedding) -> None:
        """Print one line."""
        before = time.perf_counter()
        self.seconds.append(before - self.start)
        result = evaluate(embedding, self.analogies, self.similarity)
        numbers = [] if result.analogies is None else [f"{100 * result.analogies.accuracy:.1f} %"]
        numbers += [f"{one} {score.spearman:.3f}" for one, score in result.similarity.items()]
        print(f"{name:28} {before - self.start:6.1f} s  {'  '.join(numbers)}", flush=True)
        self.start += time.perf_counter() - before

    def after_sweep(self, polished: Polished) -> None:
        """Print a line."""
        name = f"{polished.sweeps} sweeps, loss {polished.losses[-1]:.4f}"
        self.show(name, polished.words)


def read(source: str, vocab_size: int | None) -> Corpus:
    common: dict[str, Any] = {"vocab_size": vocab_size, "min_count": 1 if vocab_size else 5}
    if source == "demo":
        return Corpus.from_documents(demo_documents(), **common)
    return Corpus.from_files(source, min_tokens=500, tokenizer="ascii", **common)


def machine() -> tuple[float, float]:
    """Return what the machine gives: flops per second in matrix products, bytes per second read."""
    left, right = (np.random.default_rng(0).random((2000, 2000), np.float32) for _ in range(2))
    flops, reading = 0.0, 0.0
    memory = np.ones(1 << 27, np.float32)
    for _ in range(3):
        start = time.perf_counter()
        left @ right
        flops = max(flops, 2 * 2000**3 / (time.perf_counter() - start))
        start = time.perf_counter()
        memory.sum()
        reading = max(reading, memory.nbytes / (time.perf_counter() - start))
    return flops, reading


def main(options: argparse.Namespace) -> None:
    corpus = read(options.corpus, options.vocab_size)
    counts = Cooccurrence.count(corpus, 5, subsample=1e-3)
    spectrum = fit(counts, preset="practical", dim=options.dim, polish=False).spectrum
    scores = Scores(options.analogies, options.similarity)
    scores.show("closed form", spectrum.embedding())
    polish(spectrum, counts, sweeps=1)  # compiles
    scores.start, scores.seconds = time.perf_counter(), []
    polished = polish(spectrum, counts, callback=scores.after_sweep)

    pairs, dim = counts.symmetric.nnz, options.dim
    sweep = float(np.median(np.diff(scores.seconds)))
    # Each half: products with the row, products with the gradient, sums of rows.
    operations, read_bytes = 2 * 3 * 2 * dim * pairs, 2 * 2 * 4 * dim * pairs
    flops, reading = machine()
    print(
        f"converged: {polished.converged}; {pairs / 1e6:.1f} million pairs; {sweep:.1f} s a sweep"
    )
    print(
        f"{operations / sweep / 1e9:.0f} GFLOP/s of {flops / 1e9:.0f} in matrix products; "
        f"{read_bytes / sweep / 1e9:.0f} GB/s of rows, where one core reads {reading / 1e9:.0f} "
        "from memory"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="a file of text, or demo")
    parser.add_argument("--analogies", help="a file of analogies")
    parser.add_argument("--similarity", nargs="*", default=[], help="files of rated pairs")
    parser.add_argument("--vocab-size", type=int, help="default: every word seen five times")
    parser.add_argument("--dim", type=int, default=200)
    main(parser.parse_args())
