"""Counting on a cluster, for the commands that count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qwem.cli.inputs import text_paths
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Settings


def wants_cluster(options: argparse.Namespace) -> bool:
    """Return whether a cluster was asked for."""
    return options.cluster is not None or options.local_cluster is not None


def count_on_cluster(options: argparse.Namespace, settings: Settings) -> Cooccurrence:
    """Count text on the cluster, with the pieces beside the output until they are all added."""
    from qwem._internal.artefact import kind_of
    from qwem.cluster import connected, count_files, remove_pieces

    if "-" in options.inputs or any(kind_of(item) for item in options.inputs):
        raise SettingError("A cluster counts text files; give their names.")
    output = Path(options.output)
    pieces = output.with_name(f"{output.name}-pieces")
    paths = [path.absolute() for path in text_paths(options.inputs)]
    with connected(options.cluster, options.local_cluster) as client:
        counts = count_files(client, paths, pieces, settings)
    remove_pieces(pieces)
    return counts
