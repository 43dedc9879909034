"""Calibration: how often tests reject null hypotheses that are true.

    python benchmarks/calibration.py [TEXT] [--runs 1000] [--splits 20]

Prints the table of docs/calibration.md: the share of p-values up to 0.05 and 0.001 where there is
nothing to find. The regression is run on made-up vectors of occurrences whose groups differ in the
number of clusters, in occurrences per cluster (and so in noise), and in nothing else; their noise
is normal, heavy-tailed (Student's t with 4 degrees of freedom) or skewed (exponential). Numbers
vary between clusters, with noise that grows with them or doesn't, or within clusters. Comparisons
are of made-up documents about a few topics, and of random splits of TEXT if it is given.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

import qwem
from qwem.comparison import compare_corpora
from qwem.comparison.folds import arrange
from qwem.comparison.least_squares import fit_clusters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVELS = (0.05, 0.001)
DRAWS, DIM = 999, 10

GROUPS = [
    ((50, 5), (50, 5)),
    ((20, 1), (80, 20)),
    ((30, 2), (100, 8)),
    ((80, 1), (20, 20)),
    ((9, 1), (91, 1)),
    ((9, 1), (91, 10)),
    ((9, 10), (91, 1)),
    ((10, 3), (10, 3)),
    ((10, 2), (10, 8)),
    ((5, 3), (5, 3)),
    ((5, 2), (5, 8)),
    ((5, 1), (5, 20)),
    ((4, 1), (8, 10)),
]
"""Two groups, each of so many clusters with so many occurrences."""

SHAPES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "heavy-tailed": lambda rng, size: rng.standard_t(4, size) / np.sqrt(2),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1,
}
SHAPED = GROUPS[1], GROUPS[3], GROUPS[7]
CLUSTERS = (10, 20, 40, 100)
"""How many clusters a number varies between, or within."""


def groups_null(rng: np.random.Generator, groups: tuple[tuple[int, int], ...], shape: str) -> float:
    """Return the p-value of a difference between two groups that differ in noise alone."""
    sizes = np.repeat([size for _, size in groups], [count for count, _ in groups])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    group = np.repeat([0.0, 1.0], [count for count, _ in groups])[labels]
    spread = 1 / np.sqrt(np.arange(1, DIM + 1))
    vectors = SHAPES[shape](rng, (len(labels), DIM)) * spread
    covariates = np.column_stack([np.ones(len(labels)), group - group.mean()])
    return fit_clusters(covariates, vectors, labels).p_value(1, DRAWS, int(rng.integers(1 << 31)))


def between_null(rng: np.random.Generator, clusters: int, growing: bool) -> float:
    """Return the p-value of a number that varies between clusters, given another covariate."""
    number, other = rng.normal(size=(2, clusters))
    vectors = rng.normal(size=(clusters, DIM)) / np.sqrt(np.arange(1, DIM + 1))
    if growing:
        vectors *= 0.2 + np.abs(number[:, None])
    covariates = np.column_stack([np.ones(clusters), other, number + 0.5 * other])
    fitted = fit_clusters(covariates, vectors, np.arange(clusters))
    return fitted.p_value(2, DRAWS, int(rng.integers(1 << 31)))


def within_null(rng: np.random.Generator, clusters: int) -> float:
    """Return the p-value of a number that varies within clusters."""
    labels = np.repeat(np.arange(clusters), rng.integers(2, 9, clusters))
    number = rng.normal(size=len(labels)) + rng.normal(size=clusters)[labels]
    vectors = rng.normal(size=(len(labels), DIM)) + rng.normal(size=(clusters, DIM))[labels]
    covariates = np.column_stack([np.ones(len(labels)), number])
    return fit_clusters(covariates, vectors, labels).p_value(1, DRAWS, int(rng.integers(1 << 31)))


def documents(rng: np.random.Generator, count: int) -> list[list[str]]:
    """Return documents of 60 words about one or two of five topics."""
    topics = np.random.default_rng(0).dirichlet(np.full(80, 0.1), size=5)
    return [
        [f"w{word}" for word in rng.choice(80, 60, p=rng.dirichlet(np.full(5, 0.2)) @ topics)]
        for _ in range(count)
    ]


def row(name: str, p_values: Iterable[float], runs: str) -> None:
    """Print a row of the table."""
    found = np.array(list(p_values))
    shares = " | ".join(f"{100 * np.mean(found <= level):.2f} %" for level in LEVELS)
    print(f"| {name} | {shares} | {runs} |", flush=True)


def compare(name: str, pairs: Iterable[dict[str, Any]], **settings: Any) -> None:
    """Print a row for the words of comparisons, and how many have a discovery."""
    p_values, sure, runs = [], 0, 0
    for corpora in pairs:
        found = compare_corpora(corpora, permutations=199, **settings)
        p_values += [each.p_value or 1.0 for each in found.changes]
        sure += min(each.q_value or 1.0 for each in found.changes) <= LEVELS[0]
        runs += 1
    row(name, p_values, f"{len(p_values):,} words of {runs} comparisons, {sure} with q ≤ 0.05")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", nargs="?")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=20)
    options = parser.parse_args()
    print("| null hypothesis | p ≤ 0.05 | p ≤ 0.001 | runs |\n|---|---|---|---|")
    runs = f"{options.runs:,}"
    cases = [(groups, "normal") for groups in GROUPS]
    cases += [(groups, shape) for shape in ("heavy-tailed", "skewed") for groups in SHAPED]
    for groups, shape in cases:
        rng = np.random.default_rng(1)
        sides = " against ".join(f"{count} × {size}" for count, size in groups)
        found = [groups_null(rng, groups, shape) for _ in range(options.runs)]
        row(f"regression, {sides}, {shape}", found, runs)
    for clusters in CLUSTERS:
        for growing in (False, True):
            rng = np.random.default_rng(1)
            found = [between_null(rng, clusters, growing) for _ in range(options.runs)]
            noise = ", noise growing with it" if growing else ""
            row(f"regression, number between {clusters} clusters{noise}", found, runs)
    for clusters in CLUSTERS:
        rng = np.random.default_rng(1)
        found = [within_null(rng, clusters) for _ in range(options.runs)]
        row(f"regression, number within {clusters} clusters", found, runs)
    for sizes in ((165, 165), (110, 220), (60, 240), (30, 300)):
        rng = np.random.default_rng(1)
        made = (
            {"a": documents(rng, sizes[0]), "b": documents(rng, sizes[1])}
            for _ in range(5 * options.splits)
        )
        compare(f"made-up documents, {sizes[0]} and {sizes[1]}", made, dim=5, min_count=1)
    if options.text:
        corpus = qwem.Corpus.from_files(options.text, vocab_size=2000)
        for share in (2, 5, 11):
            rng = np.random.default_rng(1)
            halves = (
                arrange(corpus, (rng.random(len(corpus)) > 1 / share).astype(np.int64), 2)
                for _ in range(options.splits)
            )
            split = ({"a": half.fold(0), "b": half.fold(1)} for half in halves)
            compare(f"random splits of text, 1:{share - 1}", split, dim=50)


if __name__ == "__main__":
    main()
