"""Neighbours, analogies and export at real vocabularies: qwem beside gensim.

    python benchmarks/embedding.py
    python benchmarks/embedding.py --vocab-size 300000

The vectors are random, and the words are those of Google's analogy questions and made-up ones, so
that no corpus is needed. gensim answers a part of the questions, which is enough to time it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from qwem._internal.resources import peak_memory
from qwem.embedding import Embedding, read_vectors, write_vectors
from qwem.evaluation import evaluate_analogies, read_analogies
from qwem.evaluation.benchmarks import AnalogySet

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def timed(work: Callable[[], Result], repeats: int = 1) -> tuple[Result, float]:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return result, best


def report(name: str, ours: float, theirs: float, unit: str = "s", scale: float = 1.0) -> None:
    print(
        f"{name:<34}{scale * ours:9.2f} {unit:<3} gensim {scale * theirs:9.2f} {unit:<3} "
        f"{theirs / ours:6.1f} times faster"
    )


def random_embedding(questions: AnalogySet, vocab_size: int, dim: int) -> Embedding:
    asked = {word for found in questions.categories.values() for q in found for word in q}
    words = [*sorted(asked), *(f"w{i}" for i in range(vocab_size - len(asked)))]
    rng = np.random.default_rng(0)
    return Embedding(words, rng.standard_normal((vocab_size, dim), dtype=np.float32))


def compare(vocab_size: int, dim: int, peer_questions: int) -> None:
    questions = read_analogies("google")
    embedding = random_embedding(questions, vocab_size, dim)
    keyed = embedding.to_gensim()
    words = embedding.index_to_key[:: vocab_size // 20]
    _, ours = timed(lambda: [embedding.most_similar(word) for word in words], repeats=3)
    _, theirs = timed(lambda: [keyed.most_similar(word) for word in words], repeats=3)
    report("neighbours of a word", ours / len(words), theirs / len(words), "ms", 1e3)

    before = peak_memory()
    evaluate_analogies(embedding, AnalogySet("warm", {"one": (questions.categories["family"][0],)}))
    result, ours = timed(lambda: evaluate_analogies(embedding, questions))
    grown = (peak_memory() - before) / 1e6
    some = [q for found in questions.categories.values() for q in found][:peer_questions]
    with tempfile.TemporaryDirectory() as directory:
        part = Path(directory) / "questions.txt"
        part.write_text(": some\n" + "".join(" ".join(question) + "\n" for question in some))
        _, theirs = timed(
            lambda: keyed.evaluate_word_analogies(str(part), restrict_vocab=vocab_size)
        )
    theirs *= result.questions / len(some)
    report(f"{result.questions:,} analogies, two formulas", ours, theirs)
    print(f"{'':<34}{grown:9.0f} MB more than before; gensim: one formula, from {len(some):,}")

    with tempfile.TemporaryDirectory() as directory:
        for name, binary in (("word2vec", False), ("word2vec-binary", True)):
            file, other = f"{directory}/ours", f"{directory}/theirs"
            _, ours = timed(lambda: write_vectors(embedding, file, name))  # type: ignore[arg-type] # noqa: B023
            _, theirs = timed(lambda: keyed.save_word2vec_format(other, binary=binary))  # noqa: B023
            report(f"write {name}", ours, theirs)
            _, ours = timed(lambda: read_vectors(file))  # noqa: B023
            _, theirs = timed(lambda: type(keyed).load_word2vec_format(other, binary=binary))  # noqa: B023
            report(f"read {name}", ours, theirs)
        for dtype in ("float32", "float16"):
            _, ours = timed(lambda: embedding.save(f"{directory}/{dtype}", dtype=dtype))  # noqa: B023
            size = sum(f.stat().st_size for f in Path(directory, dtype).iterdir())
            print(f"{'save in ' + dtype:<34}{ours:9.2f} s   {size / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab-size", type=int, default=121_323)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--peer-questions", type=int, default=500)
    options = parser.parse_args()
    compare(options.vocab_size, options.dim, options.peer_questions)


if __name__ == "__main__":
    main()
