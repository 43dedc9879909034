"""Calibration: how often tests reject null hypotheses that are true.

    python benchmarks/calibration.py [TEXT] [--runs 1000] [--splits 20] [--only "3 × 3"] [--seed 1]

Prints the table of docs/calibration.md: the share of p-values up to 0.05 and 0.001 where there is
nothing to find. The regression is run on made-up vectors of occurrences whose groups differ in the
number of clusters, in occurrences per cluster (and so in noise), and in nothing else; their noise
is normal, heavy-tailed (Student's t with 4 degrees of freedom), Laplace's, or skewed (exponential,
log-normal, or a word that is in one context of ten). Numbers vary between clusters, with noise that
grows with them or doesn't, or within clusters. `LATER` was made up to check the F test, `LAST` to
check what is said about skewed noise; docs/calibration.md says what was chosen on what. Occurrences
of some words of TEXT, if it is given, have the clusters of real documents, and are shuffled.
Comparisons are of made-up documents about a few topics, and of random splits of TEXT. `--only`
prints the rows of regressions whose names contain one of some texts.
"""

from __future__ import annotations

import argparse
from functools import partial
from math import gamma
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import qwem
from qwem.comparison import compare_corpora
from qwem.comparison.contexts import contexts_of
from qwem.comparison.folds import arrange
from qwem.comparison.least_squares import FEWEST_DEGREES, fit_clusters, needs_symmetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVELS = (0.05, 0.001)
DRAWS, DIM = 999, 10
SPREAD = 1 / np.sqrt(np.arange(1, DIM + 1))
MANY = np.exp(-np.arange(100) / 60)
"""The noise of each dimension: 10 with an effective number of 6, or 100 with one of 56."""

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

OTHERS = [
    (((7, 1), (15, 4)), "normal"),
    (((6, 2), (40, 2)), "normal"),
    (((6, 1), (6, 50)), "normal"),
    (((3, 3), (9, 3)), "normal"),
    (((3, 1), (30, 10)), "normal"),
    (((15, 1), (60, 10)), "log-normal"),
    (((40, 1), (40, 10)), "log-normal"),
    (((12, 4), (12, 4)), "log-normal"),
    (((25, 1), (100, 5)), "rare"),
    (((10, 1), (40, 5)), "rare"),
    (((6, 2), (6, 2), (12, 6)), "normal"),
    (((6, 6), (12, 2), (5, 1)), "normal"),
    (((30, 1), (30, 3), (15, 9)), "Laplace"),
]
"""More groups; of three, the last is compared with the first."""

LATER = [
    (((4, 2), (10, 2)), "Laplace", 1.0, SPREAD),
    (((3, 1), (6, 6)), "normal", 1.0, SPREAD),
    (((4, 1), (16, 4)), "rare", 1.0, SPREAD),
    (((18, 1), (70, 8)), "Poisson", 1.0, SPREAD),
    (((35, 1), (70, 4)), "gamma", 1.0, SPREAD),
    (((5, 2), (50, 4)), "gamma", 1.0, SPREAD),
    (((5, 5), (10, 5), (20, 1)), "mixture", 1.0, SPREAD),
    (((15, 3), (45, 3)), "gamma", 1.5, SPREAD),
    (((8, 1), (60, 4)), "normal", 0.6, SPREAD),
    (((8, 3), (16, 3)), "gamma", 1.0, MANY),
    (((4, 3), (16, 6)), "Laplace", 0.4, MANY),
    (((3, 2), (9, 8)), "normal", 1.0, MANY),
]
"""Groups, the shape of noise, how much noisier the first group is, and the noise of dimensions."""

LAST = [
    (((12, 1), (30, 6)), "Weibull", 1.0, SPREAD),
    (((7, 3), (70, 3)), "rarer", 1.0, SPREAD),
    (((15, 1), (30, 2), (60, 4)), "gamma", 1.0, SPREAD),
    (((18, 2), (90, 2)), "beta", 1.0, SPREAD),
    (((27, 1), (80, 4)), "Weibull", 1.0, SPREAD),
    (((40, 1), (40, 5)), "rarer", 1.0, SPREAD),
    (((30, 2), (110, 4)), "very skewed", 1.0, SPREAD),
    (((28, 1), (90, 5)), "gamma", 1.0, SPREAD[:2]),
    (((30, 1), (60, 3)), "gamma", 2.0, MANY),
]
"""As `LATER`; five have 25 degrees of freedom or more by design, four have fewer."""

SHAPES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "heavy-tailed": lambda rng, size: rng.standard_t(4, size) / np.sqrt(2),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1,
    "log-normal": lambda rng, size: rng.lognormal(0, 0.8, size) - np.exp(0.32),
    "rare": lambda rng, size: (rng.random(size) < 0.1) - 0.1,
    "Laplace": lambda rng, size: rng.laplace(size=size),
    "gamma": lambda rng, size: rng.gamma(0.5, size=size) - 0.5,
    "Poisson": lambda rng, size: rng.poisson(0.4, size) - 0.4,
    "mixture": lambda rng, size: rng.normal(size=size) * rng.choice([1, 4], size, p=[0.9, 0.1]),
    "Weibull": lambda rng, size: rng.weibull(0.7, size) - gamma(1 + 1 / 0.7),
    "rarer": lambda rng, size: (rng.random(size) < 0.05) - 0.05,
    "beta": lambda rng, size: rng.beta(1, 4, size) - 0.2,
    "very skewed": lambda rng, size: rng.lognormal(size=size) - np.exp(0.5),
}
SHAPED = GROUPS[1], GROUPS[3], GROUPS[7]
CLUSTERS = (10, 20, 40, 100)
"""How many clusters a number varies between, or within."""

NUMBERS = [
    (12, "years", 0, False, "normal"),
    (12, "years", 0, True, "normal"),
    (30, "years", 2, True, "normal"),
    (15, "log-normal", 2, False, "normal"),
    (40, "log-normal", 2, True, "normal"),
    (25, "normal", 1, False, "skewed"),
    (15, "normal", 1, True, "heavy-tailed"),
    (18, "years", 0, False, "Poisson"),
    (35, "log-normal", 1, True, "mixture"),
    (20, "years", 0, False, "Weibull"),
    (40, "years", 1, False, "rarer"),
    (60, "log-normal", 1, True, "gamma"),
]
"""More numbers: clusters, law, other covariates, growing noise, shape.

The last three belong to `LAST`, the two before them to `LATER`."""

WORDS = ("church", "game", "power", "village")
"""Words whose occurrences in real documents are shuffled."""

Sample: TypeAlias = "tuple[Array, Array, NDArray[np.int64]]"
"""Covariates, of which the last is tested, vectors and clusters."""


def groups_null(
    rng: np.random.Generator,
    groups: tuple[tuple[int, int], ...],
    shape: str,
    noise: float = 1.0,
    spread: Array = SPREAD,
) -> Sample:
    """Return groups that differ in noise alone: per cluster, and the first by a factor."""
    sizes = np.repeat([size for _, size in groups], [count for count, _ in groups])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    group = np.repeat(np.arange(len(groups)), [count for count, _ in groups])[labels]
    vectors = SHAPES[shape](rng, (len(labels), len(spread))) * spread
    vectors[group == 0] *= noise
    columns = (group[:, None] == np.arange(1, len(groups))).astype(np.float64)
    return np.column_stack([np.ones(len(labels)), columns - columns.mean(axis=0)]), vectors, labels


def between_null(
    rng: np.random.Generator,
    clusters: int,
    law: str = "normal",
    others: int = 1,
    growing: bool = False,
    shape: str = "normal",
) -> Sample:
    """Return a number that varies between clusters, given other covariates."""
    number, *other = rng.normal(size=(1 + others, clusters))
    if law == "years":
        number = np.linspace(-1.7, 1.7, clusters)
    elif law == "log-normal":
        number = np.exp(0.7 * number) - 1.3
    vectors = SHAPES[shape](rng, (clusters, DIM)) * SPREAD
    if growing:
        vectors *= 0.2 + np.abs(number[:, None])
    covariates = [np.ones(clusters), *other, number + 0.5 * np.sum(other, axis=0)]
    return np.column_stack(covariates), vectors, np.arange(clusters)


def within_null(rng: np.random.Generator, clusters: int) -> Sample:
    """Return a number that varies within clusters."""
    labels = np.repeat(np.arange(clusters), rng.integers(2, 9, clusters))
    number = rng.normal(size=len(labels)) + rng.normal(size=clusters)[labels]
    vectors = rng.normal(size=(len(labels), DIM)) + rng.normal(size=(clusters, DIM))[labels]
    return np.column_stack([np.ones(len(labels)), number]), vectors, labels


def shuffled(
    corpus: qwem.Corpus, embedding: qwem.Embedding, word: str, by: str
) -> Callable[[np.random.Generator], Sample]:
    """Return the design of a word in real documents, whose occurrences are shuffled in each run.

    The covariate is the logarithm of a document's length, which goes with the number of occurrences
    in it, or whether a document is among the shortest quarter.
    """
    contexts = contexts_of(corpus, [[word]], embedding, weights=(5, 4, 3, 2, 1))
    length = np.log(np.diff(corpus.offsets)[contexts.documents])
    if by == "short":
        length = (length <= np.quantile(length, 0.25)).astype(np.float64)
    covariates = np.column_stack([np.ones(len(length)), (length - length.mean()) / length.std()])
    labels = np.unique(contexts.documents, return_inverse=True)[1]
    return lambda rng: (covariates, rng.permutation(contexts.vectors), labels)


def print_regression(
    name: str,
    sample: Callable[[np.random.Generator], Sample],
    *,
    runs: int,
    only: list[str],
    seed: int,
) -> None:
    """Print a row for p-values of a regression, and how often its result has a caution."""
    if only and not any(each in name for each in only):
        return
    rng = np.random.default_rng(seed)
    p_values, rough, silent = [], 0, 0
    for _ in range(runs):
        covariates, vectors, labels = sample(rng)
        fitted, last = fit_clusters(covariates, vectors, labels), covariates.shape[1] - 1
        p_values.append(fitted.p_value(last, DRAWS, int(rng.integers(1 << 31))))
        freedom = fitted.degrees_of_freedom(last)
        rough += freedom < FEWEST_DEGREES
        silent += p_values[-1] <= LEVELS[0] and not (
            freedom < FEWEST_DEGREES or needs_symmetry(p_values[-1], freedom)
        )
    without, share = (100 * each / runs for each in (silent, rough))
    row(f"regression, {name}", p_values, f"{without:.2f} %", f"{runs:,}, {share:.0f} % rough")


def groups_name(groups: tuple[tuple[int, int], ...], shape: str) -> str:
    return " against ".join(f"{count} × {size}" for count, size in groups) + f", {shape}"


def documents(rng: np.random.Generator, count: int) -> list[list[str]]:
    """Return documents of 60 words about one or two of five topics."""
    topics = np.random.default_rng(0).dirichlet(np.full(80, 0.1), size=5)
    return [
        [f"w{word}" for word in rng.choice(80, 60, p=rng.dirichlet(np.full(5, 0.2)) @ topics)]
        for _ in range(count)
    ]


def row(name: str, p_values: Iterable[float], *more: str) -> None:
    """Print a row of the table."""
    found = np.array(list(p_values))
    shares = " | ".join(f"{100 * np.mean(found <= level):.2f} %" for level in LEVELS)
    print(f"| {name} | {shares} | {' | '.join(more)} |", flush=True)


def compare(name: str, pairs: Iterable[dict[str, Any]], **settings: Any) -> None:
    """Print a row for the words of comparisons, and how many have a discovery."""
    p_values, sure, runs = [], 0, 0
    for corpora in pairs:
        found = compare_corpora(corpora, permutations=199, **settings)
        p_values += [each.p_value or 1.0 for each in found.changes]
        sure += min(each.q_value or 1.0 for each in found.changes) <= LEVELS[0]
        runs += 1
    row(name, p_values, "", f"{len(p_values):,} words of {runs} comparisons, {sure} with q ≤ 0.05")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", nargs="?")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1, help="of the rows of regressions")
    options = parser.parse_args()
    regress = partial(print_regression, runs=options.runs, only=options.only, seed=options.seed)
    print("| null hypothesis | p ≤ 0.05 | p ≤ 0.001 | p ≤ 0.05, no caution | runs |")
    print("|---|---|---|---|---|")
    cases = [(groups, "normal") for groups in GROUPS]
    cases += [(groups, shape) for shape in ("heavy-tailed", "skewed") for groups in SHAPED]
    for groups, shape in [*cases, *OTHERS]:
        regress(groups_name(groups, shape), partial(groups_null, groups=groups, shape=shape))
    for groups, shape, factor, spread in [*LATER, *LAST]:
        more = "" if factor == 1 else f", the first {factor} times as noisy"
        more += f", {len(spread)} dimensions" if len(spread) != DIM else ""
        regress(
            f"{groups_name(groups, shape)}{more}",
            partial(groups_null, groups=groups, shape=shape, noise=factor, spread=spread),
        )
    numbers = [
        (count, "normal", 1, grows, "normal") for count in CLUSTERS for grows in (False, True)
    ]
    for count, law, others, grows, shape in [*numbers, *NUMBERS]:
        noise = ", noise growing with it" if grows else ""
        kind = {"normal": "number", "years": "years", "log-normal": "skewed number"}[law]
        regress(
            f"{kind} between {count} clusters given {others} others, {shape}{noise}",
            partial(
                between_null, clusters=count, law=law, others=others, growing=grows, shape=shape
            ),
        )
    for count in CLUSTERS:
        regress(f"number within {count} clusters", partial(within_null, clusters=count))
    if options.text:
        corpus = qwem.Corpus.from_files(options.text, vocab_size=2000)
        embedding = qwem.fit(corpus, dim=50, polish=False).embedding()
        for word in WORDS:
            for by, name in (("length", "length of documents"), ("short", "short documents")):
                regress(
                    f"{name} with *{word}*, occurrences shuffled",
                    shuffled(corpus, embedding, word, by),
                )
    if options.only:
        return
    for sizes in ((165, 165), (110, 220), (60, 240), (30, 300)):
        rng = np.random.default_rng(1)
        made = (
            {"a": documents(rng, sizes[0]), "b": documents(rng, sizes[1])}
            for _ in range(5 * options.splits)
        )
        compare(f"made-up documents, {sizes[0]} and {sizes[1]}", made, dim=5, min_count=1)
    if options.text:
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
