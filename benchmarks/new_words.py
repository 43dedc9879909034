"""New words: how many occurrences it takes until a word's vector is the one that a fit gives it.

    python benchmarks/new_words.py enwiki-2M.parquet [--vocab-size 4000] [--dim 100] [--words 60]

Documents are cut into two halves, and a model is fitted to the first. Some of its words are
embedded again from n of their occurrences in the second half, drawn at random, which are counted
as those of another word. The score is the mean reciprocal rank of the word itself among all words
of the model, by cosine; 1 is best.

Beside `Model.embed_rows` of the closed form and of the polished model, which has a count for each
context as in `Model.embed` or one for each word, stand means of the vectors of the words around it,
in the polished model: plain; weighted by a/(a + p) with p the frequency of a word and a = 0.001
(SIF; Arora, Liang and Ma 2017); and à la carte, the plain mean times the matrix of
`qwem.comparison.context_transform` (Khodak et al. 2018), or of the same least squares with words
weighted by their counts instead of the logarithms. All but these two see counts in which frequent
words are thinned out as in the fit.

Last comes the cosine of words that the model knows, embedded again from all their counts in the
first half, with their vectors: the median of words that occur there 100 times or more.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import qwem
from qwem.comparison.contexts import context_transform
from qwem.cooccurrence import context_matrix
from qwem.corpus import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

OCCURRENCES = (3, 10, 30, 100)
SIF = 1e-3
KNOWN = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--vocab-size", type=int, default=4_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--words", type=int, default=60)
    options = parser.parse_args()

    corpus = qwem.Corpus.from_files(options.text, vocab_size=options.vocab_size)
    middle = len(corpus) // 2
    # The words of the first half: the others have no counts to make a model of.
    present = np.bincount(corpus.documents(0, middle).tokens, minlength=len(corpus.vocabulary)) > 0
    kept = np.flatnonzero(present)
    words = tuple(corpus.vocabulary.words[i] for i in kept)
    corpus = corpus.recode(Vocabulary(words, corpus.vocabulary.counts[kept]))
    first, second = corpus.documents(0, middle), corpus.documents(middle, len(corpus))
    polished = qwem.fit(first, dim=options.dim)
    closed = qwem.fit(first, dim=options.dim, polish=False)
    vectors = polished.embedding().vectors.astype(np.float64)
    window, subsample = polished.settings["window"], polished.settings["subsample"]
    slots = polished.solution.slots
    here = qwem.Cooccurrence.count(first, window)
    own = qwem.Cooccurrence.count(first, slots=slots, subsample=subsample)
    transform = context_transform(polished.embedding(), here)
    by_counts = transform_by_counts(vectors, here)
    share = here.word_counts / here.word_counts.sum()

    rng = np.random.default_rng(0)
    often = np.bincount(second.tokens, minlength=len(words))
    enough = (often >= max(OCCURRENCES)) & (here.word_counts >= 30)
    chosen = rng.choice(np.flatnonzero(enough), options.words, replace=False)
    print("n: closed form, polished, polished by word,", end=" ")
    print("mean, weighted mean, à la carte, à la carte by counts")
    for count in OCCURRENCES:
        renamed = with_new_words(second, chosen, count, rng)
        everything = around(qwem.Cooccurrence.count(renamed, window), len(words)).sum(axis=2)
        thin = qwem.Cooccurrence.count(renamed, slots=slots, subsample=subsample)
        contexts = around(thin, len(words))
        found = (everything.sum(axis=1) > 0) & (contexts.sum(axis=(1, 2)) > 0)
        everything, contexts = everything[found], contexts[found]
        some = contexts.sum(axis=2)
        mean = averages(everything, vectors)
        embedded: dict[str, NDArray[np.floating]] = {
            "closed form": closed.embed_rows(some).vectors,
            "polished": polished.embed_rows(contexts.reshape(len(some), -1)).vectors,
            "polished, by word": polished.embed_rows(some).vectors,
            "mean": averages(some, vectors),
            "weighted mean": averages(some * (SIF / (SIF + share)), vectors),
            "à la carte": mean @ transform.T,
            "à la carte by counts": mean @ by_counts.T,
        }
        spaces = dict.fromkeys(embedded, vectors)
        spaces["closed form"] = closed.embedding().vectors.astype(np.float64)
        scores = [
            reciprocal_rank(embedded[name], spaces[name], chosen[found]) * found.mean()
            for name in embedded
        ]
        print(f"{count}: " + " ".join(f"{score:.2f}" for score in scores), flush=True)
    known = rng.choice(np.flatnonzero(here.word_counts >= KNOWN), options.words, replace=False)
    again = polished.embed_rows(context_matrix(own)[known]).vectors
    products = np.sum(again * vectors[known], axis=1)
    cosines = products / np.linalg.norm(again, axis=1) / np.linalg.norm(vectors[known], axis=1)
    print(f"cosine of a known word with its vector: {np.median(cosines):.3f}, the median")


def with_new_words(
    corpus: qwem.Corpus, rows: NDArray[np.int64], count: int, rng: np.random.Generator
) -> qwem.Corpus:
    """Return a corpus in which `count` occurrences of each word are those of a new word."""
    tokens, size = corpus.tokens.copy(), len(corpus.vocabulary)
    for number, row in enumerate(rows):
        places = np.flatnonzero(corpus.tokens == row)
        tokens[rng.choice(places, count, replace=False)] = size + number
    names = tuple(f"\n{number}" for number in range(len(rows)))
    counts = np.append(corpus.vocabulary.counts, np.ones(len(rows), int))
    vocabulary = Vocabulary((*corpus.vocabulary.words, *names), counts)
    return replace(corpus, tokens=tokens, vocabulary=vocabulary)


def around(counts: qwem.Cooccurrence, size: int) -> NDArray[np.int64]:
    """Return the counts of the words from `size` on: new words × known words × contexts."""
    rows = context_matrix(counts)[size:].toarray().astype(np.int64)
    return rows.reshape(len(rows), -1, counts.contexts_per_word)[:, :size]


def transform_by_counts(
    vectors: NDArray[np.float64], counts: qwem.Cooccurrence
) -> NDArray[np.float64]:
    """Return the matrix of à la carte with each word weighted by how often it occurs."""
    means = averages(counts.symmetric.toarray().astype(np.float64), vectors)
    roots = np.sqrt(counts.word_counts)[:, None]
    return np.asarray(np.linalg.lstsq(roots * means, roots * vectors, rcond=None)[0].T)


def averages(counts: NDArray[np.number], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean vector of the words around each new word."""
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(counts @ vectors / totals)


def reciprocal_rank(
    found: NDArray[np.floating], vectors: NDArray[np.float64], rows: NDArray[np.int64]
) -> float:
    """Return the mean reciprocal rank of each word among all words, by cosine."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = found @ unit.T
    own = cosines[np.arange(len(rows)), rows]
    return float(np.mean(1 / (1 + (cosines > own[:, None]).sum(axis=1))))


if __name__ == "__main__":
    main()
