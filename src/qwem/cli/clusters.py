"""Work on a cluster, for the commands that count and fit."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qwem.cli.inputs import text_paths
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Workplace(NamedTuple):
    """A cluster, the text, and where pieces of it are kept."""

    client: Any
    paths: list[str | Path]
    pieces: Path


def wants_cluster(options: argparse.Namespace) -> bool:
    """Return whether a cluster was asked for."""
    return options.cluster is not None or options.local_cluster is not None


@contextmanager
def on_cluster(options: argparse.Namespace) -> Iterator[Workplace]:
    """Yield the cluster, with pieces beside the output, which are removed if all goes well."""
    from qwem._internal.artefact import kind_of
    from qwem.cluster import connected, remove_pieces

    if options.cluster is not None and options.local_cluster is not None:
        raise SettingError("--cluster and --local-cluster name two clusters; give one of them.")
    if "-" in options.inputs or any(kind_of(item) for item in options.inputs):
        raise SettingError("A cluster counts text files; give their names.")
    output = Path(options.output)
    pieces = output.with_name(f"{output.name}-pieces")
    paths = [
        path.absolute() if isinstance(path, Path) else path for path in text_paths(options.inputs)
    ]
    with connected(options.cluster, options.local_cluster) as client:
        yield Workplace(client, paths, pieces)
    remove_pieces(pieces)
