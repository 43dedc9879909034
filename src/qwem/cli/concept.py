"""Test whether a model represents a concept, given by pairs of words, as one direction.

PAIRS is a file with two words per line, separated by a tab, or a file of analogy questions (or
'google' or 'msr'), each category of which is one concept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.features import load_source
from qwem.cli.options import Option, add_options, given, whole
from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument
from qwem.errors import DataError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from qwem.embedding import Embedding
    from qwem.interpretation import ConceptTest

MEANINGS = {
    "relation": "a shared direction, and the right pairs fit it better than wrong ones",
    "groups": "a shared direction between two kinds of words, whichever is paired with which",
    "association": "partners are near each other, but share no direction",
    "none": "no more in common than random words of similar frequency",
}
SHOWN_PAIRS, SHOWN_FEATURES, SHOWN_WORDS, FREQUENT = 5, 5, 4, 4000


OPTIONS = {
    "draws": Option(whole, "number of random draws (default: 999)", "N"),
    "seed": Option(whole, "seed of the random draws (default: 0)", "N"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem concept``."""
    add_model_argument(parser)
    parser.add_argument("pairs", metavar="PAIRS", help="file of word pairs, or of analogies")
    add_options(parser, OPTIONS)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem concept``."""
    from qwem.embedding import Embedding
    from qwem.interpretation import concept_test, principal_axes, read_tasks

    source = load_source(options)
    # The test takes the first d dimensions of the embedding as its features.
    embedding = principal_axes(source) if isinstance(source, Embedding) else source.embedding()
    tests: dict[str, ConceptTest] = {}
    refused: dict[str, str] = {}
    tasks = read_tasks(options.pairs)
    for task in tasks:
        try:
            tests[task.name] = concept_test(embedding, task, **given(options, OPTIONS))
        except DataError as error:  # too few known pairs, which stops the others only if alone
            if len(tasks) == 1:
                raise
            refused[task.name] = str(error)
    report: dict[str, Any] = {
        "concepts": [test.to_dict() for test in tests.values()],
        "refused": refused,
    }
    rows: list[tuple[str, ...]]
    if len(tasks) == 1:
        rows = list(_details(embedding, tests[tasks[0].name]))
    else:
        rows = [("concept", "verdict", "direction", "pairing", "clearest in", "pairs")]
        rows += [_summary(test) for test in tests.values()]
        rows += [(name, "too few known pairs", "", "", "", "") for name in refused]
    emit(options, report, rows)


def _summary(test: ConceptTest) -> tuple[str, ...]:
    return (
        test.task.name,
        test.verdict,
        f"p = {test.p_value:.3g}",
        f"p = {test.pairing_p_value:.3g}",
        f"dimension {test.best_dim}",
        f"{len(test.task)} of {len(test.task) + len(test.task.dropped)}",
    )


def _details(embedding: Embedding, test: ConceptTest) -> Iterator[tuple[str, str]]:
    import numpy as np

    name, verdict, direction, pairing, best, pairs = _summary(test)
    yield name, f"{verdict}: {MEANINGS[verdict]}"
    yield "direction", f"{direction}, clearest in {best}"
    yield "pairing", pairing
    yield "pairs", f"{pairs} have known words"
    yield "fit worst", _pairs(test.pairs[:SHOWN_PAIRS])
    yield "fit best", _pairs(reversed(test.pairs[-SHOWN_PAIRS:]))
    for feature in test.features[:SHOWN_FEATURES]:
        axis = np.zeros(embedding.vector_size)
        axis[feature.rank - 1] = 1
        ends = " — ".join(
            " ".join(word for word, _ in embedding.most_similar([end], None, SHOWN_WORDS, FREQUENT))
            for end in (axis, -axis)
        )
        yield f"feature {feature.rank}", f"{feature.share:.0%} of the direction: {ends}"


def _pairs(fits: Iterable[Any]) -> str:
    return ", ".join(f"{fit.source}–{fit.target} {fit.cosine:.2f}" for fit in fits)
