"""Texts as vectors against people's ratings: STS-B (sentences) and Lee's corpus (news articles).

    python benchmarks/texts.py MODEL --sts DIRECTORY

Lee's corpus is in gensim's wheel (gensim/test/test_data). STS-B is the folder `data` of the
repository PhilipMay/stsb-multi-mt: stsb-en-dev.csv and stsb-en-test.csv.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gensim.test.utils import datapath
from scipy import stats

import qwem
from qwem._internal.arrays import unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def sts(embed: Callable[[list[str]], NDArray[np.float32]], file: Path) -> float:
    """Return Spearman's correlation of cosines with ratings of pairs of sentences."""
    with file.open(encoding="utf-8", newline="") as lines:
        first, second, ratings = zip(*csv.reader(lines), strict=True)
    one, other = (unit_rows(embed(list(side))) for side in (first, second))
    cosines = np.einsum("ij,ij->i", one, other)
    return float(stats.spearmanr(cosines, np.array(ratings, dtype=float)).statistic)


def lee(embed: Callable[[list[str]], NDArray[np.float32]]) -> float:
    """Return Pearson's correlation of cosines with ratings of pairs of articles."""
    articles = Path(datapath("lee.cor")).read_text("latin-1").splitlines()
    ratings: Any = np.loadtxt(datapath("similarities0-1.txt"))
    directions = unit_rows(embed(articles))
    pairs = np.triu_indices(len(articles), 1)
    return float(stats.pearsonr((directions @ directions.T)[pairs], ratings[pairs]).statistic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--sts", type=Path, help="folder of stsb-en-dev.csv and stsb-en-test.csv")
    options = parser.parse_args()
    model = qwem.load(options.model)
    for smoothing in (None, 1e-2, 1e-3, 1e-4, 1e-5):

        def embed(texts: list[str], a: float | None = smoothing) -> NDArray[np.float32]:
            return model.embed_texts(texts, smoothing=a)

        scores = {"lee": lee(embed)}
        if options.sts:
            scores |= {s: sts(embed, options.sts / f"stsb-en-{s}.csv") for s in ("dev", "test")}
        print(smoothing, {name: round(score, 3) for name, score in scores.items()})


if __name__ == "__main__":
    main()
