"""Write word vectors in a format that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import Option, add_options, given, number
from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.embedding import Embedding

FORMATS = ("word2vec", "word2vec-binary", "glove", "npz", "npy", "safetensors", "qwem", "hub")
OPTIONS = {
    "format": Option(
        FORMATS,
        "default: by the name's ending, .npz, .npy, .safetensors or .bin (word2vec-binary), and "
        "otherwise word2vec's text; qwem is an embedding without its model, and hub is for "
        "model2vec and sentence-transformers",
    ),
    "dtype": Option(
        ("float32", "float16"),
        "float16 halves the size, for the formats qwem and hub (default: float32)",
    ),
}
HUB = {
    "tokenizer": Option(
        ("letters", "ascii", "whitespace"),
        "how texts are split into words (default: as the model's own text was)",
    ),
    "sif": Option(
        number,
        "weight words by A / (A + probability), for example 1e-3, so that frequent words count "
        "less in a sentence",
        "A",
    ),
    "normalize": Option(bool, "scale the vectors of sentences to length one (default), or don't"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem export``."""
    add_model_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="PATH",
        help="file to write, or directory for the formats qwem and hub",
    )
    add_options(parser, OPTIONS)
    add_options(parser, HUB, "the format hub")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem export``."""
    from qwem._internal.output import require_writable
    from qwem.embedding import write_vectors
    from qwem.embedding.formats import format_of

    require_writable(options.output)
    chosen = options.format or format_of(options.output)
    if chosen not in ("qwem", "hub") and options.dtype == "float16":
        raise SettingError(f"The format {chosen} has no float16; use --format qwem or hub.")
    if chosen != "hub" and given(options, HUB):
        raise SettingError("--tokenizer, --sif and --normalize need --format hub.")
    if chosen == "hub":
        embedding = _write_hub(options)
    else:
        embedding = load_embedding(options)
        if chosen == "qwem":
            embedding.save(options.output, **given(options, ["dtype"]))
        else:
            write_vectors(embedding, options.output, chosen)
    words, dim = embedding.vectors.shape
    report = {"output": options.output, "words": words, "dim": dim, "format": chosen}
    emit(options, report, [("written", f"{options.output}: {words:,} words × {dim}, {chosen}")])


def _write_hub(options: argparse.Namespace) -> Embedding:
    """Write the directory and return its embedding; only a model knows its tokenizer."""
    from qwem._internal.artefact import kind_of
    from qwem.embedding import write_hub
    from qwem.model import Model

    chosen = given(options, [*HUB, "dtype"])
    if kind_of(options.model) == "model":
        model = Model.load(options.model)
        model.save_hub(options.output, dim=options.dim, **chosen)
        return model.embedding(options.dim)
    embedding = load_embedding(options)
    write_hub(embedding, options.output, **chosen)
    return embedding
