"""Learn word embeddings, and how much they depend on the documents.

Documents are dealt into folds at random. Beside the model of all documents, a replicate is fitted
without each fold. The result is a model for the other commands; similar and axis show standard
errors with --stability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.inputs import add_files, groups_of, source_of
from qwem.cli.options import (
    GROUPING,
    Option,
    add_options,
    add_settings,
    given,
    given_settings,
    whole,
)
from qwem.cli.output import command, emit

if TYPE_CHECKING:
    import argparse

FOLDS = {
    "folds": Option(whole, "number of folds (default: 20)", "K"),
    "method": Option(
        ("jackknife", "bootstrap"), "leave out each fold (default), or weight folds at random"
    ),
    "replicates": Option(whole, "number of replicates of the bootstrap (default: 50)", "N"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem stability``."""
    add_files(parser, "text (- is standard input), or one encoded corpus", "MODEL")
    add_options(parser, {**FOLDS, **GROUPING})
    add_settings(parser, "embedding", "reading", "counting")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem stability``."""
    from qwem._internal.artefact import require_replaceable
    from qwem.comparison import stability
    from qwem.cooccurrence import Cooccurrence
    from qwem.errors import SettingError

    require_replaceable(options.output, "stability")
    source = source_of(options.inputs)
    if isinstance(source, Cooccurrence):
        raise SettingError("Counts have no documents to deal into folds; give the text.")
    found = stability(
        source,
        preset=options.preset,
        threads=options.threads,
        groups=groups_of(options.inputs, options.group_column),
        **given(options, FOLDS),
        **given_settings(options),
    )
    found.save(options.output)
    model = found.model
    report: dict[str, Any] = {
        "output": options.output,
        "method": found.method,
        "replicates": len(found.replicates),
        "chosen": model.chosen,
        "settings": model.settings,
        "corpus": model.corpus,
    }
    rows = [
        ("chosen", model.chosen),
        ("replicates", f"{len(found.replicates)} ({found.method})"),
        ("written", options.output),
        ("next", f"{command()} similar {options.output} WORD --stability"),
    ]
    emit(options, report, rows)
