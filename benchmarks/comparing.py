"""Comparing corpora: how many words with a planted change are found, beside the usual recipe.

    python benchmarks/comparing.py enwiki-36M.parquet [--vocab-size 10000] [--dim 200] [--no-gensim]

Documents are dealt at random into two halves, which therefore differ by chance alone. In the second
half, 50 pairs of words of similar frequency trade places in a part of their occurrences. Recall is
the share of these 100 words among the first 100 that a method reports. The usual recipe is gensim's
skip-gram trained on each half, aligned by orthogonal Procrustes, words in order of cosine distance.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import qwem
from qwem.comparison import compare_corpora
from qwem.comparison.folds import deal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

PAIRS, FIRST_RANK = 50, 300
LEVELS = (0.1, 0.3, 1.0)


def swap(
    corpus: qwem.Corpus, level: float, rng: np.random.Generator
) -> tuple[qwem.Corpus, set[str]]:
    """Return a corpus in which pairs of words trade places in a part of their occurrences."""
    size = len(corpus.vocabulary)
    ranks = np.unique(np.geomspace(FIRST_RANK, size - 2, 4 * PAIRS).astype(int))
    chosen = rng.choice(ranks[ranks % 2 == 0], PAIRS, replace=False)
    partner = np.arange(size + 1)
    partner[chosen], partner[chosen + 1] = chosen + 1, chosen
    tokens: NDArray[Any] = np.array(corpus.tokens)
    traded = rng.random(len(tokens)) < level
    tokens[traded] = partner[tokens[traded]]
    words = {corpus.vocabulary.words[i] for i in (*chosen, *(chosen + 1))}
    return replace(corpus, tokens=tokens), words


class Sentences:
    """The documents of a corpus as lists of words, for gensim."""

    def __init__(self, corpus: qwem.Corpus) -> None:
        self.corpus = corpus
        self.words = np.array(corpus.vocabulary.words, dtype=object)

    def __iter__(self) -> Iterator[list[str]]:
        for begin, end in pairwise(self.corpus.offsets):
            yield self.words[self.corpus.tokens[begin:end]].tolist()


def usual_recipe(halves: list[qwem.Corpus], dim: int) -> list[str]:
    """Return words by cosine distance between gensim's models of two corpora, after a rotation."""
    from gensim.models import Word2Vec
    from scipy.linalg import orthogonal_procrustes

    models = [
        Word2Vec(
            Sentences(half), vector_size=dim, sg=1, window=5, negative=5, min_count=1, workers=2
        ).wv
        for half in halves
    ]
    words = [word for word in models[0].index_to_key if word in models[1].key_to_index]
    sides: list[NDArray[Any]] = []
    for model in models:
        vectors = model[words]
        sides.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    rotation, _ = orthogonal_procrustes(*sides)
    cosines = np.einsum("ij,ij->i", sides[0] @ rotation, sides[1])
    return [words[i] for i in np.argsort(cosines)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS)
    parser.add_argument("--procrustes", action="store_true", help="separate closed forms too")
    parser.add_argument("--no-gensim", dest="gensim", action="store_false")
    options = parser.parse_args()
    corpus = qwem.Corpus.from_files(
        options.text, vocab_size=options.vocab_size, tokenizer="letters"
    )
    dealt = deal(corpus, 2)
    few = corpus.restrict(300).documents(0, 200)
    compare_corpora({"first": few, "second": few}, dim=5, permutations=1)  # compiles
    for level in options.levels:
        rng = np.random.default_rng(0)
        changed, planted = swap(dealt.fold(1), level, rng)
        halves = [dealt.fold(0), changed]

        def recall(words: list[str], planted: set[str] = planted) -> str:
            return f"recall {len(planted & set(words[: len(planted)])) / len(planted):.2f}"

        start = time.process_time()
        found = compare_corpora(
            {"first": halves[0], "second": halves[1]},
            dim=options.dim,
            permutations=options.permutations,
        )
        seconds = time.process_time() - start
        orders = {
            "default order": [each.word for each in found.changes],
            "p-value": [
                each.word
                for each in sorted(found.changes, key=lambda each: (each.p_value, -each.ratio))
            ],
            "ratio": [each.word for each in sorted(found.changes, key=lambda each: -each.ratio)],
            "distance": [
                each.word for each in sorted(found.changes, key=lambda each: -each.distance)
            ],
        }
        sure = {each.word for each in found.changes if (each.q_value or 0) <= 0.05}
        print(
            f"{level:4.0%}  by "
            + ", by ".join(f"{name}: {recall(words)}" for name, words in orders.items())
            + f"; {len(planted & sure)} of {len(sure)} discoveries at 5 % are right; "
            f"{seconds:.0f} s of processor",
            flush=True,
        )
        if options.procrustes:
            start = time.process_time()
            found = compare_corpora(
                {"first": halves[0], "second": halves[1]},
                dim=options.dim,
                permutations=0,
                alignment="procrustes",
            )
            words = [each.word for each in sorted(found.changes, key=lambda each: -each.distance)]
            seconds = time.process_time() - start
            print(f"{level:4.0%}  closed forms and Procrustes: {recall(words)}, {seconds:.0f} s")
        if options.gensim:
            start = time.process_time()
            line = recall(usual_recipe(halves, options.dim))
            seconds = time.process_time() - start
            print(
                f"{level:4.0%}  gensim and Procrustes: {line}, {seconds:.0f} s of processor",
                flush=True,
            )


if __name__ == "__main__":
    main()
