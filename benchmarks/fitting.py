"""From Parquet to vectors: qwem and its peers on the same text and words, with their scores.

    python benchmarks/fitting.py enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/fitting.py enwiki-36M.parquet --vocab-size 10000
    python benchmarks/fitting.py enwiki-2M.parquet --whole --epochs 5 20 --peers gensim fasttext
    python benchmarks/fitting.py enwiki-36M.parquet --runs qwem --peers gensim --times 56

Everything reads the same text and learns the same words: every word seen at least five times, or
the most frequent ones. "demo" is the text of the demo, 13 million words of quotations. The peers
are those of `peers.py`; the ones that are not installed are named and left out (`--binaries` has
the programs of GloVe and word2vec.c). They take long on 36 million words, so their time is
extrapolated from what epochs of a part of the text take (`--part 0.05`); `--whole` trains them to
the end and scores them. qwem is the command `qwem fit`, start-up included, the better of two runs:
the first may compile kernels. With `--times 56` the text is read 56 times over, which makes two
billion words of the 36 million, and words must occur that many times as often: the same vocabulary.

`--benchmarks` are names (google, msr, men, wordsim353, simlex999, rareword, mturk771, simverb3500),
files, or directories of files; by default the named ones that are at hand. A file whose lines have
four words is one of analogies, others are rated pairs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from peers import PEERS, missing  # type: ignore[import-not-found]
from pyarrow import compute, parquet

from qwem import Corpus, Embedding, Model, read_vectors
from qwem.cli.demo import demo_documents
from qwem.evaluation import evaluate_analogies, evaluate_similarity
from qwem.evaluation.benchmarks import BENCHMARKS, available_benchmark, benchmark_file

RUNS = {
    "qwem, paper's M*": ["--preset", "paper", "--min-count", "5"],
    "qwem, closed form": ["--no-polish"],
    "qwem": [],
    "qwem, n-grams": ["--ngrams"],
    "qwem, best": ["--preset", "best"],
}
_NOT_KEEPING = "PYTHONDONTWRITEBYTECODE"
GLOVE_ITERATIONS = 15
"""Those of its demo, whatever the epochs of the others."""


class Cost(NamedTuple):
    """What a command took: seconds by the clock and of processors, and its largest memory."""

    seconds: float
    processor: float
    memory: int

    def __str__(self) -> str:
        return (
            f"{self.seconds:8.1f} s {self.processor:8.1f} processor s {self.memory / 1e9:5.1f} GB"
        )


def run(command: list[Any]) -> tuple[Cost, str]:
    """Run a command to its end; return what it and its children took, and what it printed."""
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        start = time.perf_counter()
        # Elsewhere Python keeps what it compiles; without that, every start compiles all imports.
        keeping = {name: each for name, each in os.environ.items() if name != _NOT_KEEPING}
        process = subprocess.Popen(
            list(map(str, command)), stdout=output, stderr=errors, env=keeping
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            errors.seek(0)
            sys.exit(f"{command} failed: {errors.read()[-2000:]}")
        output.seek(0)
        cost = Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
        return cost, output.read()


def benchmark_files(given: list[str]) -> list[Path]:
    """Return the files of benchmarks: named ones, files, and all files of directories."""
    if not given:
        return [file for name in BENCHMARKS if (file := available_benchmark(name))]
    paths = [Path(name) if Path(name).exists() else benchmark_file(name) for name in given]
    return [
        file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])
    ]


def is_analogies(file: Path) -> bool:
    """Return whether the lines of a file are questions: four words each."""
    lines = (line.split() for line in file.read_text("utf-8").splitlines())
    return next((len(line) == 4 for line in lines if line and line[0] not in {":", "#"}), False)


def scores(embedding: Embedding, files: list[Path]) -> str:
    found = []
    for file in files:
        if is_analogies(file):
            found.append(f"{file.stem} {evaluate_analogies(embedding, file).accuracy:.1%}")
        else:
            found.append(f"{file.stem} {evaluate_similarity(embedding, file).spearman:.3f}")
    return ", ".join(found)


def first_documents(file: str, count: int, directory: Path) -> str:
    """Write the first long documents of a Parquet file to another."""
    table = parquet.read_table(file, columns=["text"])
    words = compute.count_substring_regex(table["text"], pattern="[A-Za-z]+")
    part = table.filter(compute.greater_equal(words, 500)).slice(0, count)
    parquet.write_table(part, directory / "part.parquet")
    return str(directory / "part.parquet")


def quotations(directory: Path) -> str:
    """Write the text of the demo to a Parquet file."""
    texts = pyarrow.table({"text": list(demo_documents())})
    parquet.write_table(texts, directory / "quotations.parquet")
    return str(directory / "quotations.parquet")


def write_text(corpus: Corpus, file: Path) -> None:
    """Write the words of a corpus, one document per line."""
    words = np.array(corpus.vocabulary.words, dtype=object)
    with file.open("w", encoding="utf-8") as lines:
        for first, last in itertools.pairwise(corpus.offsets):
            lines.write(" ".join(words[corpus.tokens[first:last]]) + "\n")


def run_qwem(
    name: str, options: argparse.Namespace, file: str, directory: Path
) -> tuple[Cost, Any]:
    size = [] if options.vocab_size is None else ["--vocab-size", options.vocab_size]
    size += [] if options.dim is None else ["--dim", options.dim]
    if options.times > 1 and options.vocab_size is None:
        size += ["--min-count", 5 * options.times]
    reading = ["--min-tokens", shortest(options), "--tokenizer", "ascii"]
    command: list[Any] = [sys.executable, "-m", "qwem.cli", "fit", *[file] * options.times]
    command += ["-o", directory / "model", "--json", *RUNS[name], *reading, *size]
    runs = [run(command) for _ in range(2 if options.times == 1 else 1)]
    cost, output = min(runs)
    report = json.loads(output)
    print(f"{name:22}{cost}  {report['chosen']}")
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report["seconds"].items())
    words = report["corpus"]["words_read"]
    print(f"{'':22}{words:,} words; seconds: {stages}")
    return cost, report


def run_peer(
    peer: str, epochs: int, dim: int, corpus: Corpus, options: argparse.Namespace, directory: Path
) -> tuple[float, Embedding | None]:
    """Train a peer; return its seconds and, if it was trained to the end, its vectors."""
    documents = len(corpus) if options.whole else max(1, round(options.part * len(corpus)))
    part = corpus.documents(0, documents)
    text, vectors = directory / "text.txt", directory / "vectors.txt"
    write_text(part, text)

    def train(passes: int) -> Cost:
        command: list[Any] = [sys.executable, Path(__file__).with_name("peers.py"), peer]
        command += [text, vectors, "--dim", dim, "--epochs", passes]
        command += ["--binaries", options.binaries] if options.binaries else []
        return run(command)[0]

    if options.whole:
        cost = train(epochs * options.times)
        print(f"{f'{peer}, {epochs} epochs':22}{cost}", end="  ")
        return cost.seconds, read_vectors(vectors)
    # What an epoch adds: start-up and reading don't grow with epochs.
    once, thrice = train(1), train(3)
    epoch = (thrice.seconds - once.seconds) / 2
    seconds = epoch * epochs * options.times * len(corpus.tokens) / len(part.tokens)
    print(
        f"{f'{peer}, {epochs} epochs':22}{seconds:8.1f} s, from epochs of {options.part:.0%}",
        end=" ",
    )
    print(f"({epoch:.1f} s each)", end="  ")
    return seconds, None


def shortest(options: argparse.Namespace) -> int:
    """Return the least words of a document."""
    return 1 if options.corpus == "demo" else 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help='a Parquet file, or "demo"')
    parser.add_argument("--benchmarks", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--vocab-size", type=int, help="default: every word seen five times")
    parser.add_argument("--dim", type=int, help="default: what qwem fit chooses")
    parser.add_argument("--documents", type=int, help="take so many long ones of a Parquet file")
    parser.add_argument("--times", type=int, default=1, help="read the text so many times over")
    parser.add_argument("--runs", nargs="*", choices=tuple(RUNS), default=list(RUNS))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--binaries", type=Path, metavar="DIRECTORY", help="GloVe and word2vec.c")
    parser.add_argument("--epochs", type=int, nargs="*", default=[5])
    parser.add_argument("--part", type=float, default=0.05, help="of the text, for peers' times")
    parser.add_argument("--whole", action="store_true", help="train peers to the end, and score")
    options = parser.parse_args()

    files, taken = benchmark_files(options.benchmarks), {}
    with TemporaryDirectory() as name:
        directory = Path(name)
        file = quotations(directory) if options.corpus == "demo" else options.corpus
        if options.documents:
            file = first_documents(file, options.documents, directory)
        dim = options.dim or 200
        for run_name in options.runs:
            cost, report = run_qwem(run_name, options, file, directory)
            taken[run_name], dim = cost.seconds, report["dim"]
            print(f"{'':22}{scores(Model.load(directory / 'model').wv, files)}", flush=True)
        corpus = Corpus.from_files(
            file,
            vocab_size=options.vocab_size,
            min_count=1 if options.vocab_size else 5,
            min_tokens=shortest(options),
            tokenizer="ascii",
        )
        for peer, epochs in itertools.product(options.peers, options.epochs):
            if need := missing(peer, options.binaries):
                print(f"{peer}: not installed; it needs {need}")
                continue
            passes = GLOVE_ITERATIONS if peer == "glove" else epochs
            seconds, embedding = run_peer(peer, passes, dim, corpus, options, directory)
            print("" if embedding is None else scores(embedding, files))
            ratios = (f"{name} {seconds / mine:.0f}x" for name, mine in taken.items())
            print(f"{'':22}{', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
