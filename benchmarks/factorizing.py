"""Factorizing M*: qwem beside LAPACK.

    python benchmarks/factorizing.py enwiki-36M.parquet --vocab-size 10000 --dim 200
    python benchmarks/factorizing.py enwiki-36M.parquet --sparse-vocab-size 100000

LAPACK is asked for just the wanted eigenpairs in float32 through `scipy.linalg.eigh`, which also
gives the eigenvalues to compare with, and with `--full` for all of them in float64, as the
reference implementation does. The second form factorizes a sparse M* and tells its memory.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import scipy.linalg

from qwem import Cooccurrence, Corpus
from qwem._internal.resources import peak_memory
from qwem.spectrum import Spectrum, factorize
from qwem.target import Target, mstar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def timed(work: Callable[[], Result], repeats: int = 1) -> tuple[Result, float]:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return result, best


def build(path: str, vocab_size: int, *, dense: bool | None = None) -> Target:
    corpus = Corpus.from_files(path, vocab_size=vocab_size, min_tokens=500, tokenizer="ascii")
    target = mstar(Cooccurrence.count(corpus, window=16), dense=dense)
    print(f"M* of {vocab_size:,} words, {'dense' if target.is_dense else 'sparse'}")
    return target


def report(name: str, spectrum: Spectrum, seconds: float) -> None:
    largest = np.abs(spectrum.eigenvalues).max()
    print(
        f"{name:<22}{seconds:8.2f} s  {spectrum.products:,} products, largest residual "
        f"{spectrum.residuals.max() / largest:.1e} λ₁, converged {spectrum.converged}"
    )


def compare(path: str, vocab_size: int, dim: int, tol: float, *, full: bool) -> None:
    target = build(path, vocab_size, dense=True)
    spectrum, ours = timed(lambda: factorize(target, dim, tol=tol), repeats=3)
    report("qwem", spectrum, ours)
    signed, seconds = timed(lambda: factorize(target, dim, tol=tol, signed=True))
    report("qwem, signed", signed, seconds)

    entries = target.toarray()
    ends = vocab_size - dim, vocab_size - 1
    (values, _), seconds = timed(
        lambda: scipy.linalg.eigh(entries, subset_by_index=ends, check_finite=False)
    )
    print(f"eigh, {dim} in float32  {seconds:8.2f} s  qwem is {seconds / ours:.1f} times faster")
    if full:
        wide = entries.astype(np.float64)
        del entries
        (values, _), seconds = timed(lambda: scipy.linalg.eigh(wide, check_finite=False))
        print(f"eigh, all in float64  {seconds:8.2f} s  qwem is {seconds / ours:.1f} times faster")
    expected = values[::-1][:dim].astype(np.float64)
    error = np.abs(spectrum.eigenvalues / expected - 1).max()
    print(f"largest relative difference of an eigenvalue from LAPACK's: {error:.1e}")


def scatter(path: str, vocab_size: int, dim: int, tol: float) -> None:
    target, seconds = timed(lambda: build(path, vocab_size))
    before = peak_memory()
    print(f"{'read, count, target':<22}{seconds:8.2f} s  {before / 1e9:.1f} GB at most")
    spectrum, seconds = timed(lambda: factorize(target, dim, tol=tol))
    report("qwem", spectrum, seconds)
    print(f"{peak_memory() / 1e9:.1f} GB at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--full", action="store_true", help="also all eigenpairs in float64")
    parser.add_argument("--sparse-vocab-size", type=int, help="only this, and its memory")
    settings = parser.parse_args()
    if settings.sparse_vocab_size:
        scatter(settings.corpus, settings.sparse_vocab_size, settings.dim, settings.tol)
    else:
        compare(
            settings.corpus, settings.vocab_size, settings.dim, settings.tol, full=settings.full
        )


if __name__ == "__main__":
    main()
