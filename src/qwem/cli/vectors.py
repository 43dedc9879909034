"""Loading of vectors: from a model, a saved embedding, or a file of another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qwem.cli.options import whole
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.comparison import Stability
    from qwem.embedding import Embedding


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument MODEL and the option --dim."""
    parser.add_argument("model", metavar="MODEL", help="a fitted model, or a file of word vectors")
    parser.add_argument(
        "--dim", type=whole, metavar="D", help="use only the first D dimensions of a model"
    )


def add_topn_option(
    parser: argparse.ArgumentParser, what: str, default: int = 10, *, stability: bool = False
) -> None:
    """Add the option -n, the number of words to list, and --stability where there is such."""
    parser.add_argument(
        "-n",
        "--topn",
        type=whole,
        default=default,
        metavar="N",
        help=f"number of {what} (default: {default})",
    )
    if stability:
        add_stability_option(parser)


def add_stability_option(parser: argparse.ArgumentParser) -> None:
    """Add the option --stability."""
    parser.add_argument(
        "--stability",
        action="store_true",
        help="say how much results depend on the documents; MODEL is what qwem stability wrote",
    )


def load_stability(options: argparse.Namespace) -> Stability:
    """Return the model with replicates that the command line asks for."""
    from qwem._internal.artefact import kind_of
    from qwem.comparison import Stability

    if kind_of(options.model) != "stability":
        raise SettingError(
            f"{options.model} has no replicates to say how stable its results are; make some of "
            "the text with qwem stability."
        )
    if options.dim is not None:
        raise SettingError("--dim and --stability can't be combined: replicates have all of them.")
    return Stability.load(options.model)


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
