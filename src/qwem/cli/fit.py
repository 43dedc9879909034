"""Learn word embeddings from text in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.options import (
    add_corpus_options,
    add_count_options,
    add_preset_option,
    add_threads_option,
    given_settings,
    source_of,
)
from qwem.cli.output import cost_rows, costs, emit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem fit``."""
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="text, or one encoded corpus, or saved counts"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL")
    add_preset_option(parser)
    group = parser.add_argument_group("embedding")
    group.add_argument("--dim", type=int, metavar="D", help="dimensions (default: 200)")
    group.add_argument("--target", choices=("mstar", "ppmi", "pmi"), help="default: mstar")
    group.add_argument(
        "--negatives", type=float, metavar="K", help="weight of the negative term of M*"
    )
    group.add_argument(
        "--shrinkage", type=float, metavar="A", help="evidence that a pair of words must overcome"
    )
    group.add_argument(
        "--coupling", type=float, metavar="A",
        help="weigh word i by P_i^A; below 0, such as -0.2, in favour of rare words",
    )  # fmt: skip
    group.add_argument(
        "--signed", action="store_true", default=None, help="use negative eigenvalues too"
    )
    group.add_argument(
        "--polish", action="store_true", default=None,
        help="go on with a few full-batch steps of word2vec's own loss",
    )  # fmt: skip
    group.add_argument(
        "--ngrams", action="store_true", default=None,
        help="let rare words lean on their spelling, and give words never seen a vector",
    )  # fmt: skip
    group.add_argument("--tol", type=float, help="largest residual, relative to the top eigenvalue")
    add_corpus_options(parser)
    add_count_options(parser)
    add_threads_option(parser)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem fit``."""
    from qwem.model import fit

    source = source_of(options.inputs)
    given = given_settings(options)
    model = fit(source, preset=options.preset, threads=options.threads, **given)
    model.save(options.output)
    spectrum = model.spectrum
    report: dict[str, Any] = {
        "output": options.output,
        "vocab_size": len(model.vocabulary),
        "dim": len(spectrum.eigenvalues),
        "converged": spectrum.converged,
        "settings": model.settings,
        "corpus": model.corpus,
        **costs(model.seconds),
    }
    values = spectrum.eigenvalues
    rows = [
        ("vocabulary", f"{len(model.vocabulary):,} words"),
        ("spectrum", f"{len(values)} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}"),
        *cost_rows(report),
        ("written", options.output),
    ]
    emit(options, report, rows)
