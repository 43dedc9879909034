"""Learn word embeddings from text.

The defaults give the best vectors that are known for the text; --preset paper is the paper's model,
and --no-polish the pure closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.clusters import on_cluster, wants_cluster
from qwem.cli.inputs import add_files, source_of
from qwem.cli.options import KEEPING, add_settings, given, given_settings
from qwem.cli.output import emit_run
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem fit``."""
    add_files(parser, "text (- is standard input), one encoded corpus, or saved counts", "MODEL")
    add_settings(parser, "embedding", "reading", "counting", "keeping", "cluster")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem fit``."""
    from qwem._internal.artefact import require_replaceable
    from qwem.model import Settings, fit

    require_replaceable(options.output, "model")
    changes, kept = given_settings(options), given(options, KEEPING)
    if wants_cluster(options):
        from qwem.cluster import fit_files

        if kept.get("keep_counts"):
            raise SettingError(
                "A model that is fitted on a cluster does not keep its counts; leave out "
                "--keep-counts."
            )
        settings = Settings.of(options.preset, **changes)
        with on_cluster(options) as there:
            model = fit_files(*there, settings, threads=options.threads)
    else:
        source = source_of(options.inputs)
        model = fit(source, preset=options.preset, threads=options.threads, **kept, **changes)
    model.save(options.output)
    spectrum = model.spectrum
    report = {
        "vocab_size": len(model.vocabulary),
        "dim": spectrum.dim,
        "chosen": model.chosen,
        "converged": spectrum.converged,
        "settings": model.settings,
        "corpus": model.corpus,
    }
    values = spectrum.eigenvalues
    rows = [
        ("chosen", model.chosen),
        ("spectrum", f"{len(values)} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}"),
    ]
    emit_run(options, report, rows, model.seconds, next_step=f"similar {options.output} WORD")
