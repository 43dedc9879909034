"""Write word vectors in a format that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.embedding import Embedding

FORMATS = ("word2vec", "word2vec-binary", "glove", "npz", "npy", "qwem", "hub")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem export``."""
    add_model_argument(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="PATH",
        help="the file to write, or the folder for the formats qwem and hub",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=FORMATS, default="word2vec",
        help="word2vec (text, the default), word2vec-binary, glove, npz, npy, qwem (an embedding "
        "without its model), or hub (for model2vec and sentence-transformers)",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", choices=("float32", "float16"), default="float32",
        help="float16 halves the size, for the formats qwem and hub (default: float32)",
    )  # fmt: skip
    group = parser.add_argument_group("the format hub")
    group.add_argument(
        "--tokenizer", choices=("letters", "ascii", "whitespace"),
        help="how texts are split into words (default: as the model's own text was)",
    )  # fmt: skip
    group.add_argument(
        "--sif", type=float, metavar="A",
        help="weight words by A / (A + probability), for example 1e-3, so that frequent words "
        "count less in a sentence",
    )  # fmt: skip
    group.add_argument(
        "--no-normalize", dest="normalize", action="store_false",
        help="do not scale the vectors of sentences to length one",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem export``."""
    from qwem.embedding import write_vectors

    if options.format not in ("qwem", "hub") and options.dtype != "float32":
        raise SettingError(f"The format {options.format} has no float16; use qwem or hub.")
    if options.format != "hub" and (options.tokenizer or options.sif or not options.normalize):
        raise SettingError("--tokenizer, --sif and --no-normalize need --format hub.")
    embedding = _write_hub(options) if options.format == "hub" else load_embedding(options)
    if options.format == "qwem":
        embedding.save(options.output, dtype=options.dtype)
    elif options.format != "hub":
        write_vectors(embedding, options.output, options.format)
    words, dim = embedding.vectors.shape
    report = {"output": options.output, "words": words, "dim": dim, "format": options.format}
    emit(options, report, [("written", f"{options.output}: {words:,} words × {dim}")])


def _write_hub(options: argparse.Namespace) -> Embedding:
    """Write the folder and return its embedding; only a model knows its tokenizer."""
    from qwem._internal.artefact import kind_of
    from qwem.embedding import write_hub
    from qwem.model import Model

    chosen = {
        "tokenizer": options.tokenizer,
        "sif": options.sif,
        "normalize": options.normalize,
        "dtype": options.dtype,
    }
    if kind_of(options.model) == "model":
        model = Model.load(options.model)
        model.save_hub(options.output, dim=options.dim, **chosen)
        return model.embedding(options.dim)
    embedding = load_embedding(options)
    write_hub(embedding, options.output, **chosen)
    return embedding
