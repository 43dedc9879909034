"""Inputs of the commands that read text: files, an encoded corpus, or counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.inputs import is_url
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse


def add_files(parser: argparse.ArgumentParser, inputs: str, output: str) -> None:
    """Add the inputs, and the output by its name in the help."""
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help=inputs)
    parser.add_argument("-o", "--output", required=True, metavar=output, help="directory to write")


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


def text_paths(inputs: list[str]) -> list[str | Path]:
    """Return the paths and URLs of text; - is standard input."""
    if "" in inputs:
        raise SettingError("One of the inputs is an empty name; give a file or directory.")
    return [
        item if is_url(item) else Path("/dev/stdin" if item == "-" else item) for item in inputs
    ]


def groups_of(inputs: list[str], column: str | None) -> list[Any] | None:
    """Return the label of each document in a column of the files; without one it is a group."""
    from qwem.corpus import read_columns

    if column is None:
        return None
    labels = read_columns(text_paths(inputs), [column])[column]
    return [("alone", number) if label is None else label for number, label in enumerate(labels)]
