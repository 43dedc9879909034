"""Polishing: word2vec's own loss from the closed form, scored along the way.

    python benchmarks/polishing.py enwiki-36M.parquet --analogies google-analogies.txt \
        --similarity men.txt wordsim353.tsv

By default the case in which gensim's skip-gram is measured: 10,000 words, dimension 200, window 5,
subsampling 1e-3, 5 negatives; the start is the closed form of the practical preset.
With --tied: 4,000 words, dimension 100, window 16, subsampling 1e-5 as weights, 1 negative, from
the paper's positive closed form. Give ``demo`` for the demo's text.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from qwem import Cooccurrence, Corpus, evaluate, factorize, fit, mstar
from qwem.polish import Polished, polish
from qwem.recipes import demo_documents

if TYPE_CHECKING:
    from qwem import Embedding

CHECKPOINTS = (0, 5, 10, 15, 20, 25)


class Scores:
    """Prints what an embedding scores, leaving out of the time what scoring takes."""

    def __init__(self, analogies: str | None, similarity: list[str]) -> None:
        self.analogies, self.similarity = analogies, similarity
        self.start = time.perf_counter()

    def show(self, name: str, embedding: Embedding) -> None:
        """Print one line."""
        before = time.perf_counter()
        result = evaluate(embedding, self.analogies, self.similarity)
        numbers = [] if result.analogies is None else [f"{100 * result.analogies.accuracy:.1f} %"]
        numbers += [f"{one} {score.spearman:.3f}" for one, score in result.similarity.items()]
        print(f"{name:36} {before - self.start:6.1f} s  {'  '.join(numbers)}", flush=True)
        self.start += time.perf_counter() - before

    def after_step(self, polished: Polished) -> None:
        """Print a line at the checkpoints."""
        if polished.steps in CHECKPOINTS:
            name = f"{polished.steps} steps, loss {polished.losses[-1]:.4f}"
            self.show(name, polished.embedding)


def read(source: str, vocab_size: int) -> Corpus:
    if source == "demo":
        return Corpus.from_documents(demo_documents(), vocab_size=vocab_size)
    common: dict[str, Any] = {"min_tokens": 500, "tokenizer": "ascii"}
    return Corpus.from_files(source, vocab_size=vocab_size, **common)


def main(options: argparse.Namespace) -> None:
    corpus = read(options.corpus, options.vocab_size)
    loss: dict[str, Any] = {"steps": options.steps, "tol": options.tol}
    if options.tied:
        counts = Cooccurrence.count(corpus, options.window)
        spectrum = factorize(mstar(counts), options.dim)
        loss |= {"tied": True, "negatives": 1.0, "subsample": options.subsample}
    else:
        counts = Cooccurrence.count(
            corpus, options.window, subsample=options.subsample, draws=options.draws
        )
        closed = {"dim": options.dim, "shrinkage": 10 * options.draws}
        spectrum = fit(counts, preset="practical", **closed).spectrum
    scores = Scores(options.analogies, options.similarity)
    scores.show("closed form", spectrum.embedding())
    scores.start = time.perf_counter()
    polished = polish(spectrum, counts, callback=scores.after_step, **loss)
    scores.show(f"{polished.steps} steps, {polished.evaluations} evaluations", polished.embedding)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="a file of text, or demo")
    parser.add_argument("--analogies", help="a file of analogies")
    parser.add_argument("--similarity", nargs="*", default=[], help="files of rated pairs")
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--vocab-size", type=int, help="default: 10,000, or 4,000 if tied")
    parser.add_argument("--dim", type=int, help="default: 200, or 100 if tied")
    parser.add_argument("--window", type=int, help="default: 5, or 16 if tied")
    parser.add_argument("--subsample", type=float, help="default: 1e-3, or 1e-5 if tied")
    parser.add_argument("--draws", type=int, default=1, help="subsamples that are added up")
    parser.add_argument("--steps", type=int, help="default: 15, or 25 if tied")
    parser.add_argument("--tol", type=float, help="default: 0.05, or 0.01 if tied")
    given = parser.parse_args()
    defaults = (4_000, 100, 16, 1e-5, 25, 0.01) if given.tied else (10_000, 200, 5, 1e-3, 15, 0.05)
    for name, value in zip(
        ("vocab_size", "dim", "window", "subsample", "steps", "tol"), defaults, strict=True
    ):
        if getattr(given, name) is None:
            setattr(given, name, value)
    main(given)
