"""Updating: how much faster it is than a fit, and how near the result is to that of a fit.

    python benchmarks/updating.py enwiki-36M.parquet [--vocab-size 10000] [--dim 200] [--share 0.05]

A model is fitted to all documents but a random 5 %, which are then added by `Model.update`. The fit
that it is compared with reads, counts and learns from all documents. Times are processor seconds,
from the text on.

Distances between models are those of cosines, over random pairs of words and over neighbours. How
large they may be is shown by a second fit of all documents with another seed, which thins out other
tokens of frequent words: an update should be no further from a fit than that. An update thins out
other tokens than the fit, too. What is left without that is the distance to a fit of the update's
own counts.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

import qwem

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = 5_000


def timed(work: Callable[[], qwem.Model]) -> tuple[qwem.Model, float]:
    """Return a model and the processor seconds that it took."""
    start = time.process_time()
    model = work()
    return model, time.process_time() - start


def stages(model: qwem.Model) -> str:
    """Return the seconds of each stage, by the clock."""
    return ", ".join(f"{name} {taken:.1f}" for name, taken in model.seconds.items())


def differences(one: qwem.Embedding, other: qwem.Embedding, words: list[str]) -> str:
    """Return how far the cosines of two embeddings are from each other."""
    rng = np.random.default_rng(0)
    first = [words[i] for i in rng.choice(len(words), PAIRS)]
    second = [words[i] for i in rng.choice(len(words), PAIRS)]
    near = one.most_similar_each(first[: PAIRS // 10], topn=10)
    far = other.most_similar_each(first[: PAIRS // 10], topn=10)
    shared = np.mean(
        [len({w for w, _ in a} & {w for w, _ in b}) / 10 for a, b in zip(near, far, strict=True)]
    )

    def distance(pairs: list[tuple[str, str]]) -> float:
        changes = [one.similarity(*pair) - other.similarity(*pair) for pair in pairs]
        return float(np.sqrt(np.mean(np.square(changes))))

    pairs = [
        (word, found)
        for word, some in zip(first, near, strict=False)
        for found, _ in some
        if found in other
    ]
    return (
        f"cosines differ by {distance(list(zip(first, second, strict=True))):.4f} (random pairs) "
        f"and {distance(pairs):.4f} (neighbours), {shared:.0%} of ten neighbours are shared"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--no-polish", dest="polish", action="store_false")
    options = parser.parse_args()

    texts = pq.read_table(options.text, columns=["text"])["text"].to_pylist()
    new = np.random.default_rng(0).random(len(texts)) < options.share
    old = [text for text, is_new in zip(texts, new, strict=True) if not is_new]
    more = [text for text, is_new in zip(texts, new, strict=True) if is_new]

    def fit(
        documents: list[str], vocab_size: int = options.vocab_size, seed: int = 0
    ) -> qwem.Model:
        return qwem.fit(
            documents,
            vocab_size=vocab_size,
            dim=min(options.dim, vocab_size // 10),
            polish=options.polish,
            seed=seed,
            keep_counts=True,
        )

    before = fit(old)
    before.update(more[:10])  # compiles
    fresh, of_fit = timed(lambda: fit(texts))
    print(f"fit of all: {of_fit:.1f} s of processor (by the clock: {stages(fresh)})", flush=True)
    updated, of_update = timed(lambda: before.update(more))
    print(f"update: {of_update:.1f} s of processor (by the clock: {stages(updated)})")
    print(f"an update is {of_fit / of_update:.1f} times faster", flush=True)
    other = fit(texts, seed=1)
    words = [word for word in fresh.vocabulary if word in updated.vocabulary]
    words = [word for word in words if word in other.vocabulary and word in before.vocabulary]
    assert updated.update_state is not None
    counts = updated.update_state.counts
    same_counts = qwem.fit(counts, dim=updated.spectrum.dim, polish=options.polish)
    print(f"update and fit: {differences(fresh.wv, updated.wv, words)}")
    print(f"update and fit of the same counts: {differences(same_counts.wv, updated.wv, words)}")
    print(f"fits with two seeds: {differences(fresh.wv, other.wv, words)}")
    print(f"before the update and fit: {differences(fresh.wv, before.wv, words)}")
    moved, _ = timed(lambda: updated.update(remove=more))
    assert moved.update_state is not None
    assert before.update_state is not None
    same = moved.update_state.counts == before.update_state.counts
    print(f"removed again, the counts are those before: {'yes' if same else 'no'}")


if __name__ == "__main__":
    main()
