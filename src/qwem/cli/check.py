"""Check that no file of a saved model, corpus or other result was lost or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem check``."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a directory that qwem saved")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem check``."""
    from qwem._internal.artefact import opened

    report = {}
    for path in options.paths:
        saved = opened(path)
        report[path] = {"kind": saved.metadata["kind"], "bytes": saved.check()}
    rows = [
        (path, f"{found['kind']}, {found['bytes'] / 1e6:,.1f} MB, intact")
        for path, found in report.items()
    ]
    emit(options, report, rows)
