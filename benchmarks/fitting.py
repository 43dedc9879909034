"""From Parquet to a saved model: qwem beside gensim's skip-gram, with the scores of both.

    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY --vocab-size 10000
    python benchmarks/fitting.py enwiki-2M.parquet --documents 200 --epochs 5 20 50 --whole
    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY --runs qwem --times 56
    python benchmarks/fitting.py demo --benchmarks DIRECTORY --peers word2vec fasttext --whole

All read the same text and learn the same words: every word seen five times, or the most frequent
ones. "demo" is the text of the demo, 13 million words of quotations. The peers are gensim's
Word2Vec and, if asked for, its FastText with n-grams of 3 to 6 (skip-gram, window 5, 5 negatives,
2 workers). They take over ten minutes on 36 million words, so their time is extrapolated from one
epoch of a part (`--part 0.05`); `--whole` trains them to the end and scores them. qwem is the
command `qwem fit`, start-up included, the better of two runs: the first may compile kernels. With
`--times 56` the text is read 56 times over, which makes two billion words of the 36 million, and
words must occur that many times as often: the same vocabulary. All files of DIRECTORY are scored:
those whose names contain "analog", "questions" or "msr" as analogies, others as rated pairs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow
from gensim.models import FastText, Word2Vec
from pyarrow import compute, parquet

from qwem import Corpus, Embedding, Model
from qwem.embedding import from_gensim
from qwem.evaluation import evaluate_analogies, evaluate_similarity
from qwem.recipes import demo_documents

RUNS = {
    "qwem, paper's M*": ["--preset", "paper", "--min-count", "5"],
    "qwem, closed form": ["--no-polish"],
    "qwem": [],
    "qwem, n-grams": ["--ngrams"],
}
PEERS = {"word2vec": Word2Vec, "fasttext": FastText}


class Sentences:
    """The documents of a corpus as lists of words, for any number of passes."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.words = np.array(corpus.vocabulary.words, dtype=object)

    def __iter__(self) -> Any:
        for d in range(len(self.corpus)):
            a, b = self.corpus.offsets[d : d + 2]
            yield self.words[self.corpus.tokens[a:b]].tolist()


def train_gensim(peer: str, corpus: Corpus, dim: int, epochs: int) -> tuple[float, Embedding]:
    model = PEERS[peer](vector_size=dim, window=5, negative=5, sg=1, min_count=1, workers=2, seed=1)
    sentences = Sentences(corpus)
    model.build_vocab(sentences)
    start = time.perf_counter()
    model.train(sentences, total_examples=len(corpus), epochs=epochs)
    return time.perf_counter() - start, from_gensim(model.wv)


def scores(embedding: Embedding, benchmarks: Path | None) -> str:
    found = []
    for file in sorted(benchmarks.iterdir()) if benchmarks else []:
        if any(part in file.name.lower() for part in ("analog", "questions", "msr")):
            found.append(f"{file.stem} {evaluate_analogies(embedding, file).accuracy:.1%}")
        else:
            found.append(f"{file.stem} {evaluate_similarity(embedding, file).spearman:.3f}")
    return ", ".join(found)


def first_documents(file: str, count: int, directory: str) -> str:
    """Write the first long documents of a Parquet file to another."""
    table = parquet.read_table(file, columns=["text"])
    words = compute.count_substring_regex(table["text"], pattern="[A-Za-z]+")
    part = table.filter(compute.greater_equal(words, 500)).slice(0, count)
    parquet.write_table(part, f"{directory}/part.parquet")
    return f"{directory}/part.parquet"


def quotations(directory: str) -> str:
    """Write the text of the demo to a Parquet file."""
    texts = pyarrow.table({"text": list(demo_documents())})
    parquet.write_table(texts, f"{directory}/quotations.parquet")
    return f"{directory}/quotations.parquet"


def run_qwem(files: list[str], settings: list[str], output: str) -> tuple[float, dict[str, Any]]:
    command = [sys.executable, "-m", "qwem.cli", "fit", *files, "-o", output, "--json", *settings]
    wall = []
    for _ in range(2 if len(files) == 1 else 1):
        start = time.perf_counter()
        finished = subprocess.run(command, check=True, capture_output=True, text=True)
        wall.append(time.perf_counter() - start)
    return min(wall), json.loads(finished.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help='a Parquet file, or "demo"')
    parser.add_argument("--benchmarks", type=Path, metavar="DIRECTORY")
    parser.add_argument("--vocab-size", type=int, help="default: every word seen five times")
    parser.add_argument("--dim", type=int, help="default: what qwem fit chooses")
    parser.add_argument("--documents", type=int, help="take so many long ones of a Parquet file")
    parser.add_argument("--times", type=int, default=1, help="read the text so many times over")
    parser.add_argument("--runs", nargs="*", choices=tuple(RUNS), default=list(RUNS))
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=["word2vec"])
    parser.add_argument("--epochs", type=int, nargs="*", default=[5])
    parser.add_argument("--part", type=float, default=0.05, help="of the text, for gensim's time")
    parser.add_argument("--whole", action="store_true", help="train gensim to the end")
    options = parser.parse_args()

    size = [] if options.vocab_size is None else ["--vocab-size", str(options.vocab_size)]
    size += [] if options.dim is None else ["--dim", str(options.dim)]
    if options.times > 1 and options.vocab_size is None:
        size += ["--min-count", str(5 * options.times)]
    shortest = 1 if options.corpus == "demo" else 500
    reading = ["--min-tokens", str(shortest), "--tokenizer", "ascii"]
    taken = {}
    with TemporaryDirectory() as directory:
        file = quotations(directory) if options.corpus == "demo" else options.corpus
        if options.documents:
            file = first_documents(file, options.documents, directory)
        for name in options.runs:
            taken[name], report = run_qwem(
                [file] * options.times, [*RUNS[name], *reading, *size], f"{directory}/model"
            )
            print(f"{name:18}{taken[name]:8.1f} s  {report['chosen']}")
            words = report["corpus"]["words_read"]
            spent = sum(report["seconds"][stage] for stage in ("read", "count"))
            print(f"{'':28}{words:,} words, {words / spent / 1e6:.1f} million read and counted/s")
            stages = ", ".join(f"{k} {v:.1f}" for k, v in report["seconds"].items())
            print(f"{'':28}{stages}; {report['peak_memory_bytes'] / 1e9:.1f} GB")
            embedding = Model.load(f"{directory}/model").wv
            print(f"{'':28}{scores(embedding, options.benchmarks)}", flush=True)
        corpus = Corpus.from_files(
            file,
            vocab_size=options.vocab_size,
            min_count=1 if options.vocab_size else 5,
            min_tokens=shortest,
            tokenizer="ascii",
        )
        dim = options.dim or report["dim"]
        for peer, epochs in itertools.product(options.peers, options.epochs):
            if options.whole:
                gensim, embedding = train_gensim(peer, corpus, dim, epochs * options.times)
                note = scores(embedding, options.benchmarks)
            else:
                part = corpus.documents(0, max(1, round(options.part * len(corpus))))
                seconds, _ = train_gensim(peer, part, dim, epochs=1)
                gensim = seconds * epochs * options.times * len(corpus.tokens) / len(part.tokens)
                note = f"(one epoch of {options.part:.0%}: {seconds:.1f} s)"
            print(f"{f'{peer}, {epochs} epochs':20}{gensim:6.1f} s  {note}")
            times = (f"{name} {gensim / seconds:.0f}x" for name, seconds in taken.items())
            print(f"{'':28}{', '.join(times)}", flush=True)


if __name__ == "__main__":
    main()
