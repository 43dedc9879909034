"""Windows in short text: scores of the default fit with narrower and wider ones.

    python benchmarks/windows.py enwiki-2M.parquet --benchmarks DIRECTORY --words 250000
    python benchmarks/windows.py demo --benchmarks DIRECTORY --words 300000 --skip 5000000

The text is whole documents of the file, or of the demo's quotations, until they have so many words.
Analogies and rated pairs are files of DIRECTORY, as in `fitting.py`. What `qwem fit` would choose
comes last.
"""

from __future__ import annotations

import argparse
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow import parquet

from qwem import evaluate, fit
from qwem.cli.demo import demo_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qwem import Embedding


def read(source: str) -> Iterable[str]:
    if source == "demo":
        return demo_documents()
    texts: list[str] = parquet.read_table(source, columns=["text"])["text"].to_pylist()
    return texts


def cut(documents: Iterable[str], skip: int, words: int) -> list[str]:
    """Return the documents that begin after `skip` words and before so many more."""
    found = list(documents)
    starts = [0, *accumulate(len(text.split()) for text in found)]
    return [text for text, at in zip(found, starts, strict=False) if skip <= at < skip + words]


def scores(embedding: Embedding, analogies: Path, rated: list[Path]) -> str:
    result = evaluate(embedding, analogies, rated)
    assert result.analogies is not None
    numbers = [f"{score.spearman:.3f}" for score in result.similarity.values()]
    return ", ".join([f"{100 * result.analogies.accuracy:.1f}", *numbers])


def main(options: argparse.Namespace) -> None:
    texts = cut(read(options.corpus), options.skip, options.words)
    (analogies,) = options.benchmarks.glob("*analog*")
    rated = sorted(set(options.benchmarks.iterdir()) - {analogies})
    print(f"{len(texts):,} documents; analogies, {', '.join(path.stem for path in rated)}")
    for window in [*options.windows, "auto"]:
        model = fit(texts, window=window)
        line = scores(model.embedding(), analogies, rated)
        print(f"window {model.settings['window']:2}: {line}; {model.chosen}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help='a Parquet file, or "demo"')
    parser.add_argument("--benchmarks", type=Path, metavar="DIRECTORY", required=True)
    parser.add_argument("--words", type=int, default=10**9)
    parser.add_argument("--skip", type=int, default=0, help="words to leave out at the beginning")
    parser.add_argument("--windows", type=int, nargs="+", default=[5, 8, 12, 16])
    main(parser.parse_args())
