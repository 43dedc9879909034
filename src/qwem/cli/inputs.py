"""Inputs of the commands: text, an encoded corpus, counts, vectors, and the cluster to work on."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qwem._internal.files import is_url
from qwem.cli.options import given
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from qwem.comparison import Stability
    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum


def source_of(inputs: list[str]) -> Any:
    """Load the inputs: one encoded corpus, one set of counts, or else paths of text."""
    from qwem._internal.artefact import kind_of
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus

    kind = kind_of(inputs[0]) if len(inputs) == 1 else None
    if kind == "corpus":
        return Corpus.load(inputs[0])
    if kind == "cooccurrence":
        return Cooccurrence.load(inputs[0])
    if kind is not None:
        raise SettingError(f"{inputs[0]} holds a {kind}; give text, an encoded corpus or counts.")
    return text_paths(inputs)


def text_of(inputs: list[str], purpose: str) -> Any:
    """Load the inputs, which must have documents: one encoded corpus, or else paths of text."""
    from qwem.cooccurrence import Cooccurrence

    source = source_of(inputs)
    if isinstance(source, Cooccurrence):
        raise SettingError(f"Counts have no documents {purpose}; give the text.")
    return source


def text_paths(inputs: list[str]) -> list[str | Path]:
    """Return the paths and URLs of text; - is standard input."""
    if "" in inputs:
        raise SettingError("One of the inputs is an empty name; give a file or directory.")
    return [
        item if is_url(item) else Path("/dev/stdin" if item == "-" else item) for item in inputs
    ]


def column_of(inputs: list[str], column: str, options: argparse.Namespace) -> list[Any]:
    """Return the value that each document has in a column of the files."""
    from qwem.corpus import read_columns

    return read_columns(text_paths(inputs), [column], **given(options, ["encoding"]))[column]


def groups_of(
    inputs: list[str], column: str | None, options: argparse.Namespace
) -> list[Any] | None:
    """Return the label of each document in a column of the files; without one it is a group."""
    if column is None:
        return None
    labels = column_of(inputs, column, options)
    return [("alone", number) if label is None else label for number, label in enumerate(labels)]


def load_embedding(options: argparse.Namespace) -> Embedding:
    """Return the embedding that the command line asks for."""
    return load_vectors(options.model, options.dim)


def load_vectors(path: str, dim: int | None = None) -> Embedding:
    """Return the embedding of a model, a saved embedding, or a file of word vectors."""
    from qwem._internal.artefact import kind_of
    from qwem.embedding import Embedding, read_vectors
    from qwem.model import Model

    kind = kind_of(path)
    if kind == "stability":  # a model with replicates
        return Model.load(Path(path, "model")).embedding(dim=dim)
    if kind == "model":
        return Model.load(path).embedding(dim=dim)
    if dim is not None:
        raise SettingError(f"--dim needs a model, and {path} is not one.")
    return Embedding.load(path) if kind else read_vectors(path)


def load_stability(options: argparse.Namespace) -> Stability | None:
    """Return the model with its replicates, if MODEL has any and all dimensions are asked for."""
    from qwem._internal.artefact import kind_of
    from qwem.comparison import Stability

    if kind_of(options.model) != "stability" or options.dim is not None:
        return None
    return Stability.load(options.model)


def load_spectrum(options: argparse.Namespace) -> Spectrum | Embedding:
    """Return the spectrum of a model, or vectors that have none."""
    from qwem._internal.artefact import kind_of
    from qwem.model import Model

    if kind_of(options.model) != "model":
        return load_embedding(options)
    spectrum = Model.load(options.model).spectrum
    return spectrum if options.dim is None else spectrum.restrict(options.dim)


class Workplace(NamedTuple):
    """A cluster, the text, and where shards of it are kept."""

    client: Any
    paths: list[str | Path]
    shards: Path


def wants_cluster(options: argparse.Namespace) -> bool:
    """Return whether a cluster was asked for."""
    return options.cluster is not None or options.local_cluster is not None


@contextmanager
def on_cluster(options: argparse.Namespace) -> Iterator[Workplace]:
    """Yield the cluster, with shards beside the output, which are removed if all goes well."""
    from qwem._internal.artefact import kind_of
    from qwem.cluster import connected, remove_results

    if options.cluster is not None and options.local_cluster is not None:
        raise SettingError("--cluster and --local-cluster name two clusters; give one of them.")
    if "-" in options.inputs or any(kind_of(item) for item in options.inputs):
        raise SettingError("A cluster counts text files; give their names.")
    output = Path(options.output)
    shards = output.with_name(f"{output.name}-shards")
    paths = [
        path.absolute() if isinstance(path, Path) else path for path in text_paths(options.inputs)
    ]
    with connected(options.cluster, options.local_cluster) as client:
        yield Workplace(client, paths, shards)
    remove_results(shards)
