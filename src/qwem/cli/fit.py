"""Learn word embeddings from text.

The defaults give the best vectors that are known for the text; --preset paper is the paper's model,
and --no-polish the pure closed form.
"""

from __future__ import annotations

import argparse
from typing import Any

from qwem.cli.options import (
    add_corpus_options,
    add_count_options,
    add_preset_option,
    add_threads_option,
    given_settings,
    source_of,
)
from qwem.cli.output import command, cost_rows, costs, emit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem fit``."""
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="text (- is standard input), one encoded corpus, or saved counts",
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL")
    add_preset_option(parser)
    group = parser.add_argument_group("embedding")
    group.add_argument(
        "--dim", type=int, metavar="D",
        help="dimensions (default: 200, and less for short text)",
    )  # fmt: skip
    group.add_argument("--target", choices=("mstar", "ppmi", "pmi"), help="default: mstar")
    group.add_argument(
        "--negatives",
        type=float,
        metavar="K",
        help="weight of the negative term of M* (default: 1)",
    )
    group.add_argument(
        "--shrinkage", type=float, metavar="A",
        help="evidence that a pair of words must overcome (default: 10)",
    )  # fmt: skip
    group.add_argument(
        "--coupling", type=float, metavar="A",
        help="weigh word i by P_i^A; below 0 in favour of rare words (default: -0.2)",
    )  # fmt: skip
    group.add_argument(
        "--signed", action=argparse.BooleanOptionalAction, help="use negative eigenvalues too"
    )
    group.add_argument(
        "--polish", action=argparse.BooleanOptionalAction,
        help="continue with a few steps of word2vec's own loss, or keep the closed form",
    )  # fmt: skip
    group.add_argument(
        "--tol", type=float, metavar="T",
        help="largest residual, relative to the largest eigenvalue (default: 0.001)",
    )  # fmt: skip
    group.add_argument(
        "--ngrams", action=argparse.BooleanOptionalAction,
        help="let rare words lean on their spelling, and give words never seen a vector",
    )  # fmt: skip
    add_corpus_options(parser)
    add_count_options(parser)
    add_threads_option(parser)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem fit``."""
    from qwem._internal.artefact import require_replaceable
    from qwem.model import fit

    require_replaceable(options.output, "model")
    source = source_of(options.inputs)
    given = given_settings(options)
    model = fit(source, preset=options.preset, threads=options.threads, **given)
    model.save(options.output)
    spectrum = model.spectrum
    report: dict[str, Any] = {
        "output": options.output,
        "vocab_size": len(model.vocabulary),
        "dim": spectrum.dim,
        "chosen": model.chosen,
        "converged": spectrum.converged,
        "settings": model.settings,
        "corpus": model.corpus,
        **costs(model.seconds),
    }
    values = spectrum.eigenvalues
    rows = [
        ("chosen", model.chosen),
        ("spectrum", f"{len(values)} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}"),
        *cost_rows(report),
        ("written", options.output),
        ("next", f"{command()} similar {options.output} WORD"),
    ]
    emit(options, report, rows)
