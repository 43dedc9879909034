"""Finding phrases, beside gensim's `Phrases`, in one run, with the same formula and thresholds.

    python benchmarks/phrases.py TEXT

Both find pairs in words that are already split, gensim from lists of words in memory and qwem from
a corpus of every word. The times are those of finding the pairs; gensim's of joining them in the
text is beside it. Processor seconds are of all threads.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from gensim.models import phrases as gensim_phrases

from qwem import Corpus, threads
from qwem.corpus import Phrases

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[Result, float, float]:
    """Return a result, and how many seconds it took on the wall and of processors."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    """Print the times of both, and whether they found the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()

    with threads(options.threads):
        compare(options.text)


def compare(text: str) -> None:
    """Compare qwem and gensim on one text."""
    corpus = Corpus.from_files(text, min_count=1)
    small = Corpus.from_documents(["a b a b"])
    Phrases.learn(small).join(small)  # compiles
    print(f"{corpus.tokens.size:,} words, {len(corpus.vocabulary):,} different")
    ours, wall, processor = timed(lambda: Phrases.learn(corpus, scoring="gensim"))
    _, join_wall, join_processor = timed(lambda: ours.join(corpus))
    print(f"qwem    find {wall:7.1f} s ({processor:.1f} of processors), {len(ours):,} pairs")
    print(f"qwem    join {join_wall:7.1f} s ({join_processor:.1f} of processors)")

    words = corpus.vocabulary.words
    texts = [
        [words[token] for token in corpus.tokens[start:stop].tolist()]
        for start, stop in pairwise(corpus.offsets.tolist())
    ]
    theirs, their_wall, their_processor = timed(
        lambda: gensim_phrases.Phrases(texts, min_count=5, threshold=10.0)
    )
    exported, more, more_processor = timed(theirs.export_phrases)
    print(
        f"gensim  find {their_wall + more:7.1f} s "
        f"({their_processor + more_processor:.1f} of processors), {len(exported):,} pairs"
    )
    print(f"the same pairs: {set(ours.words) == set(exported)}")
    print(f"ratio of processor seconds: {(their_processor + more_processor) / processor:.1f}")


if __name__ == "__main__":
    main()
