"""Write word vectors in a format that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding

if TYPE_CHECKING:
    import argparse

FORMATS = ("word2vec", "word2vec-binary", "glove", "npz", "npy", "qwem")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem export``."""
    add_model_argument(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--format", choices=FORMATS, default="word2vec")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem export``."""
    from qwem.embedding import write_vectors

    embedding = load_embedding(options)
    if options.format == "qwem":
        embedding.save(options.output)
    else:
        write_vectors(embedding, options.output, options.format)
    words, dim = embedding.vectors.shape
    report = {"output": options.output, "words": words, "dim": dim, "format": options.format}
    emit(options, report, [("written", f"{options.output}: {words:,} words × {dim}")])
