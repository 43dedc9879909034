"""What the closed form can win by its own choices, one change at a time.

    python benchmarks/closed_form_choices.py enwiki-36M.parquet --benchmarks DIRECTORY

Prints a Markdown table of scores (docs/closed-form-choices.md has it). Every row differs from the
first in what its first column says.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from qwem import Cooccurrence, Corpus, Embedding, Spectrum, evaluate, factorize, mstar
from qwem.target import Reweighting, negative_sampling, rank_one, setting31, subsampling

BASE: dict[str, Any] = {"window": 5, "subsample": 1e-3, "shrinkage": 10.0, "signed": True}

CHANGES: dict[str, dict[str, Any]] = {
    "window 5, subsample 1e-3, shrinkage 10, signed": {},
    "not signed": {"signed": False},
    "no shrinkage": {"shrinkage": 0.0},
    "shrinkage 3": {"shrinkage": 3.0},
    "shrinkage 30": {"shrinkage": 30.0},
    "shrinkage 100": {"shrinkage": 100.0},
    "window 2": {"window": 2},
    "window 3": {"window": 3},
    "window 8": {"window": 8},
    "window 16": {"window": 16},
    "window 5, flat": {"weights": "flat"},
    "no subsampling": {"subsample": None},
    "subsample 1e-4": {"subsample": 1e-4},
    "subsample 1e-5": {"subsample": 1e-5},
    "8 draws, shrinkage 80": {"draws": 8, "shrinkage": 80.0},
    "negatives 2": {"negatives": 2.0},
    "negatives 5": {"negatives": 5.0},
    "smoothing 3/4": {"reweighting": "smoothing"},
    "smoothing 3/4, negatives 2": {"reweighting": "smoothing", "negatives": 2.0},
    "coupling P^0.1": {"reweighting": 0.1},
    "coupling P^0.2": {"reweighting": 0.2},
    "coupling P^-0.1": {"reweighting": -0.1},
    "coupling P^-0.2: the practical preset": {"reweighting": -0.2},
    "coupling P^-0.3": {"reweighting": -0.3},
    "coupling P^-0.1, subsample 1e-4": {"reweighting": -0.1, "subsample": 1e-4},
    "coupling P^-0.2, subsample 1e-4": {"reweighting": -0.2, "subsample": 1e-4},
    "coupling: subsampling 1e-5": {"reweighting": "subsampling"},
}
EXPONENTS = (0.0, 0.25, 0.75, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--benchmarks", type=Path, required=True, metavar="DIRECTORY")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=list(CHANGES))
    options = parser.parse_args()
    corpus = Corpus.from_files(
        options.corpus, vocab_size=options.vocab_size, min_tokens=500, tokenizer="ascii"
    )

    @cache
    def count(window: int, weights: str, subsample: float | None, draws: int) -> Cooccurrence:
        return Cooccurrence.count(corpus, window, weights, subsample=subsample, draws=draws)

    def solve(change: dict[str, Any]) -> Spectrum:
        chosen = {**BASE, **change}
        counts = count(
            chosen["window"],
            chosen.get("weights", "dynamic"),
            chosen["subsample"],
            chosen.get("draws", 1),
        )
        target = mstar(
            counts,
            shrinkage=chosen["shrinkage"],
            negatives=chosen.get("negatives", 1.0),
            reweighting=reweighting(counts, chosen.get("reweighting")),
        )
        return factorize(target, options.dim, signed=chosen["signed"])

    print("| change | analogies | MEN | WordSim353 |\n|---|---|---|---|")
    for name in options.only:
        spectrum = solve(CHANGES[name])
        show(name, spectrum.embedding(), options.benchmarks)
        if not CHANGES[name]:
            for exponent in EXPONENTS:
                label = f"eigenvalue exponent {exponent}"
                show(label, spectrum.embedding(exponent=exponent), options.benchmarks)
            vectors = spectrum.embedding().vectors
            both = np.hstack([vectors, spectrum.context_embedding().vectors])
            show("W beside W′", Embedding(spectrum.vocabulary, both), options.benchmarks)


def reweighting(counts: Cooccurrence, choice: str | float | None) -> Reweighting:
    if choice is None:
        return setting31()
    if choice == "smoothing":
        return setting31() * negative_sampling(exponent=0.75, negatives=1.0)
    if choice == "subsampling":
        return setting31() * subsampling(1e-5)
    probability = counts.word_counts / counts.word_counts.sum()
    return setting31() * rank_one(probability ** float(choice))


def show(name: str, embedding: Embedding, benchmarks: Path) -> None:
    pairs = [benchmarks / "men.txt", benchmarks / "wordsim353.tsv"]
    result = evaluate(embedding, benchmarks / "google-analogies.txt", pairs)
    assert result.analogies is not None
    men, wordsim = (score.spearman for score in result.similarity.values())
    print(f"| {name} | {result.analogies.accuracy:.1%} | {men:.3f} | {wordsim:.3f} |", flush=True)


if __name__ == "__main__":
    main()
