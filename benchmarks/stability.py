"""Stability: what replicates cost beside a fit, and how often intervals cover a fresh sample.

    python benchmarks/stability.py enwiki-36M.parquet [--vocab-size 10000] [--dim 200] [--folds 20]

The cost is that of `stability` on the whole text, counting included, divided by that of one fit,
both from the encoded corpus and in processor seconds.

With --complete, the standard errors after one sweep and two are compared with those of complete
fits of every replicate: the median of their ratios over random pairs, its deciles, and how the
changes of the replicates correlate.

With --parts K, only the first of K parts into which documents are dealt at random is used.

For the coverage, documents are dealt at random into two halves. Intervals come from one half, and
the values that they should cover from a fit of the other. The pairs of words are random, neighbours
in the model of the whole text, and neighbours in the model of the first half. The last were chosen
because they are near there, and are less near elsewhere: a choice that no interval knows of.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import qwem
from qwem.comparison import Stability, stability
from qwem.comparison.folds import FoldCounts, deal
from qwem.comparison.stability import SWEEPS
from qwem.corpus import Vocabulary
from qwem.model import Settings
from qwem.model.settings import ResolvedSettings, resolve_auto

PAIRS = 500


def occurring(parts: list[qwem.Corpus]) -> Vocabulary:
    """Return the words that every part has, with their counts in all parts together."""
    words = parts[0].vocabulary.words
    counts = np.array([np.bincount(part.tokens, minlength=len(words)) for part in parts])
    kept = np.flatnonzero(counts.min(axis=0))
    return Vocabulary(tuple(words[i] for i in kept), counts.sum(axis=0)[kept])


def compare_with_complete_fits(corpus: qwem.Corpus, settings: ResolvedSettings, folds: int) -> None:
    """Print standard errors after some sweeps, as a part of those of complete fits."""
    rng = np.random.default_rng(0)
    words = corpus.vocabulary.words
    pairs = [(words[i], words[j]) for i, j in rng.choice(len(words), (PAIRS, 2)) if i != j]
    found = [stability(corpus, folds=folds, sweeps=k, settings=settings) for k in (1, 2)]
    counts = FoldCounts(deal(corpus, folds, seed=settings.seed), settings)
    fits = tuple(qwem.fit(counts.without(k), settings).embedding() for k in range(folds))
    complete = Stability(found[0].model, fits).similarities(pairs)
    for sweeps, each in enumerate(found, 1):
        estimates = each.similarities(pairs)
        low, share, high = np.quantile(estimates.errors / complete.errors, (0.1, 0.5, 0.9))
        changes = [some.replicates - some.replicates.mean(axis=0) for some in (estimates, complete)]
        alike = np.corrcoef(changes[0].ravel(), changes[1].ravel())[0, 1]
        print(
            f"{sweeps} sweeps: standard errors are {share:.0%} ({low:.0%} to {high:.0%}) of those "
            f"of complete fits, and changes correlate by {alike:.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--folds", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=SWEEPS)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--no-polish", dest="polish", action="store_false")
    parser.add_argument("--no-cost", dest="cost", action="store_false")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--no-coverage", dest="coverage", action="store_false")
    options = parser.parse_args()

    corpus = qwem.Corpus.from_files(options.text, vocab_size=options.vocab_size)
    if options.parts > 1:
        part = deal(corpus, options.parts, seed=2).fold(0)
        corpus = part.recode(occurring([part]))
    settings = resolve_auto(Settings(dim=options.dim, polish=options.polish), corpus.vocabulary)
    stability(corpus.restrict(300), folds=2, settings=settings.changed(dim=5))  # compiles
    if options.cost:
        start = time.process_time()
        model = qwem.fit(corpus, settings)
        fit = time.process_time() - start
        print("fit:", ", ".join(f"{name} {taken:.1f} s" for name, taken in model.seconds.items()))
        start = time.process_time()
        stability(corpus, folds=options.folds, sweeps=options.sweeps, settings=settings)
        replicates = time.process_time() - start
        print(
            f"fit {fit:.0f} s, stability with {options.folds} folds {replicates:.0f} s of processor"
        )
        print(f"{replicates / fit:.1f} times one fit", flush=True)
    if options.complete:
        compare_with_complete_fits(corpus, settings, options.folds)
    if not options.coverage:
        return

    # A word of one document is in one half only, and there is nothing to compare.
    halves = deal(corpus, 2, seed=1)
    corpus = corpus.recode(occurring([halves.fold(0), halves.fold(1)]))
    halves = deal(corpus, 2, seed=1)
    found = stability(halves.fold(0), folds=options.folds, sweeps=options.sweeps, settings=settings)
    fresh = qwem.fit(halves.fold(1), settings).embedding()
    whole = qwem.fit(corpus, settings).embedding()
    rng = np.random.default_rng(0)
    words = found.embedding.index_to_key
    drawn = rng.choice(len(words), (PAIRS, 2))
    first = [words[i] for i in drawn[:, 0]]

    def with_neighbours(embedding: qwem.Embedding) -> list[tuple[str, str]]:
        near = embedding.most_similar_each(first, topn=10)
        return [(word, some[rng.integers(10)][0]) for word, some in zip(first, near, strict=True)]

    for name, pairs in {
        "random pairs": [(words[i], words[j]) for i, j in drawn if i != j],
        "neighbours in the whole text": with_neighbours(whole),
        "neighbours in the first half": with_neighbours(found.embedding),
    }.items():
        estimates = found.similarities(pairs)
        low, high = estimates.prediction(0.95)
        values = np.array([fresh.similarity(*pair) for pair in pairs])
        covered = np.mean((low <= values) & (values <= high))
        error = np.median(estimates.errors)
        change = np.sqrt(np.mean((values - estimates.values) ** 2) / 2)
        print(
            f"{name}: 95 % intervals cover {covered:.1%} of {len(pairs)} values of the other half"
        )
        print(f"  median standard error {error:.3f}, by the change between halves {change:.3f}")
        print(f"  on average {np.mean(values - estimates.values):+.3f} in the other half")


if __name__ == "__main__":
    main()
