"""From Parquet to a saved model: qwem beside gensim's skip-gram, with the scores of both.

    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY --vocab-size 10000
    python benchmarks/fitting.py enwiki-2M.parquet --documents 200 --epochs 5 20 50 --whole
    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY --runs qwem --times 56

Both read the same text and learn the same words: every word seen five times, or the most frequent
ones. gensim (skip-gram, window 5, 5 negatives, 2 workers) takes over ten minutes on 36 million
words, so its time is extrapolated from one epoch of a part (`--part 0.05`); `--whole` trains it to
the end and scores it. qwem is the command `qwem fit`, start-up included, the better of two runs:
the first may compile kernels. With `--times 56` the text is read 56 times over, which makes two
billion words of the 36 million, and words must occur that many times as often: the same vocabulary.
All files of DIRECTORY are scored: those whose names contain
"analog", "questions" or "msr" as analogies, others as rated pairs.
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
from pyarrow import compute, parquet

from qwem import Corpus, Embedding, Model
from qwem.embedding import from_gensim
from qwem.evaluation import evaluate_analogies, evaluate_similarity

READING = ["--min-tokens", "500", "--tokenizer", "ascii"]
RUNS = {
    "qwem, paper's M*": ["--preset", "paper", "--min-count", "5"],
    "qwem, closed form": ["--no-polish", *READING],
    "qwem": READING,
    "qwem, n-grams": ["--ngrams", *READING],
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
    parser.add_argument("corpus")
    parser.add_argument("--benchmarks", type=Path, metavar="DIRECTORY")
    parser.add_argument("--vocab-size", type=int, help="default: every word seen five times")
    parser.add_argument("--dim", type=int, help="default: what qwem fit chooses")
    parser.add_argument("--documents", type=int, help="take so many long ones of a Parquet file")
    parser.add_argument("--times", type=int, default=1, help="read the text so many times over")
    parser.add_argument("--runs", nargs="*", choices=tuple(RUNS), default=list(RUNS))
    parser.add_argument("--epochs", type=int, nargs="*", default=[5])
    parser.add_argument("--part", type=float, default=0.05, help="of the text, for gensim's time")
    parser.add_argument("--whole", action="store_true", help="train gensim to the end")
    options = parser.parse_args()

    size = [] if options.vocab_size is None else ["--vocab-size", str(options.vocab_size)]
    size += [] if options.dim is None else ["--dim", str(options.dim)]
    if options.times > 1 and options.vocab_size is None:
        size += ["--min-count", str(5 * options.times)]
    taken = {}
    with TemporaryDirectory() as directory:
        file = options.corpus
        if options.documents:
            file = first_documents(file, options.documents, directory)
        for name in options.runs:
            taken[name], report = run_qwem(
                [file] * options.times, [*RUNS[name], *size], f"{directory}/model"
            )
            print(f"{name:18}{taken[name]:8.1f} s  {report['chosen']}")
            words = report["corpus"]["words_read"]
            reading = sum(report["seconds"][stage] for stage in ("read", "count"))
            print(f"{'':28}{words:,} words, {words / reading / 1e6:.1f} million read and counted/s")
            stages = ", ".join(f"{k} {v:.1f}" for k, v in report["seconds"].items())
            print(f"{'':28}{stages}; {report['peak_memory_bytes'] / 1e9:.1f} GB")
            embedding = Model.load(f"{directory}/model").wv
            print(f"{'':28}{scores(embedding, options.benchmarks)}", flush=True)
        corpus = Corpus.from_files(
            file,
            vocab_size=options.vocab_size,
            min_count=1 if options.vocab_size else 5,
            min_tokens=500,
            tokenizer="ascii",
        )
        dim = options.dim or report["dim"]
        for epochs in options.epochs:
            if options.whole:
                gensim, embedding = train_gensim(corpus, dim, epochs * options.times)
                note = scores(embedding, options.benchmarks)
            else:
                part = corpus.documents(0, max(1, round(options.part * len(corpus))))
                seconds, _ = train_gensim(part, dim, epochs=1)
                gensim = seconds * epochs * options.times * len(corpus.tokens) / len(part.tokens)
                note = f"(one epoch of {options.part:.0%}: {seconds:.1f} s)"
            print(f"gensim, {epochs:2} epochs {gensim:8.1f} s  {note}")
            print(f"{'':28}{', '.join(f'{k} {gensim / v:.0f}x' for k, v in taken.items())}")


if __name__ == "__main__":
    main()
