"""From Parquet to a saved model: qwem beside gensim's skip-gram, with the scores of both.

    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY

Both read the same text and learn the same words. gensim (skip-gram, window 5, 5 negatives,
5 epochs, 2 workers) takes over ten minutes on 36 million words, so its time is extrapolated from
one epoch of a part (`--part 0.05`); `--whole` trains it to the end and scores it. qwem is the
command `qwem fit`, start-up included, the better of two runs: the first may compile kernels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gensim.models import Word2Vec

from qwem import Corpus, Embedding, Model, evaluate
from qwem.embedding import from_gensim

PRACTICAL = ["--preset", "practical", "--min-tokens", "500", "--tokenizer", "ascii"]
RUNS = {
    "qwem, paper": ["--preset", "paper"],
    "qwem, practical": PRACTICAL,
    "qwem, polished": [*PRACTICAL, "--polish"],
}


class Sentences:
    """The documents of a corpus as lists of words, for any number of passes."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.words = np.array(corpus.vocabulary.words, dtype=object)

    def __iter__(self) -> Any:
        for d in range(len(self.corpus)):
            a, b = self.corpus.offsets[d : d + 2]
            yield self.words[self.corpus.tokens[a:b]].tolist()


def train_gensim(corpus: Corpus, dim: int, epochs: int) -> tuple[float, Embedding]:
    model = Word2Vec(vector_size=dim, window=5, negative=5, sg=1, min_count=1, workers=2, seed=1)
    sentences = Sentences(corpus)
    model.build_vocab(sentences)
    start = time.perf_counter()
    model.train(sentences, total_examples=len(corpus), epochs=epochs)
    return time.perf_counter() - start, from_gensim(model.wv)


def scores(embedding: Embedding, benchmarks: Path | None) -> str:
    if benchmarks is None:
        return ""
    pairs = [benchmarks / "men.txt", benchmarks / "wordsim353.tsv"]
    result = evaluate(embedding, benchmarks / "google-analogies.txt", pairs)
    assert result.analogies is not None
    similarity = ", ".join(f"{k} {v.spearman:.3f}" for k, v in result.similarity.items())
    return f"analogies {result.analogies.accuracy:.1%}, {similarity}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--benchmarks", type=Path, metavar="DIRECTORY")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--part", type=float, default=0.05, help="of the text, for gensim's time")
    parser.add_argument("--whole", action="store_true", help="train gensim to the end")
    options = parser.parse_args()

    size = ["--vocab-size", str(options.vocab_size), "--dim", str(options.dim)]
    taken = {}
    with TemporaryDirectory() as directory:
        output = f"{directory}/model"
        for name, preset in RUNS.items():
            command = [sys.executable, "-m", "qwem.cli", "fit", options.corpus, "-o", output]
            command += [*preset, *size, "--json"]
            wall = []
            for _ in range(2):
                start = time.perf_counter()
                finished = subprocess.run(command, check=True, capture_output=True, text=True)
                wall.append(time.perf_counter() - start)
            taken[name] = min(wall)
            stages = json.loads(finished.stdout)["seconds"]
            achieved = scores(Model.load(output).wv, options.benchmarks)
            print(f"{name:18}{taken[name]:8.1f} s  {achieved}")
            print(f"{'':18}{'':10}{', '.join(f'{k} {v:.1f}' for k, v in stages.items())}")

    corpus = Corpus.from_files(
        options.corpus, vocab_size=options.vocab_size, min_tokens=500, tokenizer="ascii"
    )
    if options.whole:
        gensim, embedding = train_gensim(corpus, options.dim, epochs=5)
        print(f"{'gensim':18}{gensim:8.1f} s  {scores(embedding, options.benchmarks)}")
    else:
        part = corpus.documents(0, max(1, round(options.part * len(corpus))))
        seconds, _ = train_gensim(part, options.dim, epochs=1)
        gensim = seconds * 5 * len(corpus.tokens) / len(part.tokens)
        print(f"{'gensim':18}{gensim:8.1f} s  (one epoch of {options.part:.0%}: {seconds:.1f} s)")
    for name, seconds in taken.items():
        print(f"{name} is {gensim / seconds:.0f} times faster")


if __name__ == "__main__":
    main()
