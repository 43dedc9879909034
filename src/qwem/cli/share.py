"""Commands that show and share: report, explore, export, info and reproduce."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import during
from qwem._internal.settings import Number, Whole
from qwem.cli.io import cost_rows, costs, emit, emit_page, load_embedding
from qwem.cli.options import DIM, MODEL, Option, argument, command, output, passed
from qwem.errors import DataError, QwemError, SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.embedding import Embedding


MODELS = argument(
    "MODEL",
    "a fitted model, with or without replicates, or a file of word vectors; more than one to "
    "compare",
    "+",
)
SOURCES = {
    "counts": Option(
        str, "counts of the first model's text (qwem count), for words that occur together", "F"
    ),
    "trace": Option(str, "training run (qwem train) to lay over the first model's theory", "RUN"),
    "sentences": Option(
        str, "the first model's text, to show sentences with a word", "F", several=True
    ),
    "corpus": Option(
        str, "the encoded corpus that was counted, for a model fitted to counts", "CORPUS"
    ),
    "init_scale": Option(
        Number(), "size σ of the random start of the replayed training (default: 1e-6)", "S"
    ),
}
SHOWN = {
    "title": Option(str, "heading of the page", "TEXT"),
    "analogies": Option(
        str,
        "file of analogy questions, or google (the default, if it is on this machine) or msr",
        "F",
    ),
    "similarity": Option(
        str,
        "files of rated word pairs, or names (default: wordsim353, simlex999 and men, if they are "
        "on this machine)",
        "F",
        several=True,
    ),
    "tasks": Option(
        str,
        "word pairs whose relations are tested: a file of analogy questions, or of two words per "
        "line (default: google)",
        "F",
    ),
}
RESULTS = Option(
    str,
    "results to show: what qwem weat, axis, compare, regression, update or similar printed with "
    "--json",
    "FILE",
    several=True,
)


@command(
    models=MODELS,
    output=output("FILE", "page to write"),
    words=Option(
        Whole(1),
        "number of words of each model, the most frequent ones (default: 10000, or 5500 of two)",
        "N",
    ),
    **SHOWN,
    results=RESULTS,
    **SOURCES,
)
def report(options: argparse.Namespace) -> None:
    """Write what a model knows to one HTML page that needs no network.

    qwem report model -o report.html
    """
    from qwem._internal.files import require_writable_file
    from qwem.pages import load_models, write_page
    from qwem.pages.overview import read_results

    require_writable_file(options.output)
    results = read_results(options.results or ())
    with during("loading"):
        models = load_models(options.models, **passed(options, SOURCES))
    with during("computing the page"):
        shown = passed(options, [*SHOWN, "words"])
        page = write_page(models, options.output, results=results, **shown)
    emit_page(options, page)


@command(
    models=MODELS,
    port=Option(Whole(0, 65_535), "port (default: any)", "P", default=0),
    browser=Option(bool, "open the page in a browser (default), or only print its address"),
    **SHOWN,
    results=RESULTS,
    **SOURCES,
)
def explore(options: argparse.Namespace) -> None:
    """Explore models in the browser: the page of qwem report, served live.

    qwem explore model
    """
    from qwem.pages import load_models, serve
    from qwem.pages.overview import read_results

    def ready(address: str) -> None:
        rows = [("open", address), ("stop", "Ctrl-C")]
        emit(options, {"address": address}, rows)
        sys.stdout.flush()
        if options.browser is not False:
            webbrowser.open(address)

    results = read_results(options.results or ())
    models = load_models(options.models, **passed(options, SOURCES))
    serve(models, port=options.port, ready=ready, results=results, **passed(options, SHOWN))


FORMATS = (
    "word2vec", "word2vec-binary", "glove", "npz", "npy", "safetensors", "parquet", "tsv", "csv",
    "qwem", "hub",
)  # fmt: skip
EXPORT = {
    "format": Option(
        FORMATS,
        "default: by the file's extension, .npz, .npy, .safetensors, .parquet, .tsv, .csv or .bin "
        "(word2vec-binary), otherwise word2vec's text; qwem is an embedding without its model, and "
        "hub is for model2vec and sentence-transformers",
    ),
    "dtype": Option(
        ("float32", "float16", "int8"),
        "float16 halves the size (not for text and word2vec-binary), int8 quarters it (npz, "
        "safetensors, qwem, hub) (default: float32)",
    ),
    "prune": Option(Whole(1), "write at most the N most frequent words", "N"),
}
HUB = {
    "tokenizer": Option(
        ("words", "letters", "ascii", "whitespace"),
        "how texts are split into words (default: as the model's own text was)",
    ),
    "sif": Option(
        Number(),
        "weight words by A / (A + probability), for example 1e-3, so that frequent words count "
        "less in a sentence",
        "A",
    ),
    "normalize": Option(bool, "scale the vectors of sentences to length one (default), or don't"),
}


@command(
    model=MODEL,
    output=output("PATH", "file to write, or directory for the formats qwem and hub"),
    dim=DIM,
    **EXPORT,
    **{name: option._replace(help=f"format hub: {option.help}") for name, option in HUB.items()},
)
def export(options: argparse.Namespace) -> None:
    """Write word vectors in a format that other programs read.

    qwem export model -o vectors.txt
    qwem export model -o folder --format hub
    """
    from qwem._internal.files import require_writable
    from qwem.embedding import write_vectors
    from qwem.embedding.formats import format_of

    require_writable(options.output)
    chosen = options.format or format_of(options.output)
    if chosen != "hub" and passed(options, HUB):
        raise SettingError("--tokenizer, --sif and --normalize need --format hub.")
    if chosen == "hub":
        embedding = _write_hub(options)
    else:
        embedding, dtype = _pruned(load_embedding(options), options), passed(options, ["dtype"])
        if chosen == "qwem":
            embedding.save(options.output, **dtype)
        else:
            write_vectors(embedding, options.output, chosen, **dtype)
    words, dim = embedding.vectors.shape
    report = {"output": options.output, "words": words, "dim": dim, "format": chosen}
    emit(options, report, [("written", f"{options.output}: {words:,} words × {dim}, {chosen}")])


def _write_hub(options: argparse.Namespace) -> Embedding:
    """Write the directory and return its embedding; only a model records its tokenizer."""
    from qwem._internal.artefact import kind_of
    from qwem.embedding import write_hub
    from qwem.model import Model

    chosen = passed(options, [*HUB, "dtype"])
    if kind_of(options.model) == "model":
        model = Model.load(options.model)
        model.save_hub(options.output, dim=options.dim, vocab_size=options.prune, **chosen)
        return _pruned(model.embedding(options.dim), options)
    embedding = _pruned(load_embedding(options), options)
    write_hub(embedding, options.output, **chosen)
    return embedding


def _pruned(embedding: Embedding, options: argparse.Namespace) -> Embedding:
    return embedding.restrict(min(options.prune or len(embedding), len(embedding)))


@command(
    paths=argument("PATH", "a directory that qwem saved, or a file of vectors or results", "+")
)
def info(options: argparse.Namespace) -> None:
    """Show what a saved result is, how it was made, and whether its files are intact.

    qwem info model
    """
    found = {path: _described(path) for path in options.paths}
    rows: list[tuple[str, str]] = []
    for path, facts in found.items():
        rows += [("", "")] if rows else []
        size = f", {facts['bytes'] / 1e6:,.1f} MB" if "bytes" in facts else ""
        rows += [(path, f"{facts['kind']}{size}{', intact' if facts.get('intact') else ''}")]
        rows += [
            (name, _said(value))
            for name, value in facts.items()
            if name not in ("kind", "bytes", "intact")
        ]
    emit(options, found, rows)


def _described(path: str) -> dict[str, Any]:
    """Return facts about an artefact, a file of vectors, or a result as JSON."""
    from qwem._internal.artefact import kind_of, opened
    from qwem.embedding import read_vectors

    if kind_of(path) is not None or Path(path).is_dir():
        saved = opened(path)
        facts = {"kind": saved.metadata["kind"], "made by": f"qwem {saved.metadata['qwem']}"}
        facts |= _made(saved.metadata)
        if facts["kind"] == "stability":
            facts |= _made(opened(saved.child("model")).metadata)
        return facts | {"bytes": saved.check(), "intact": True}
    if Path(path).suffix == ".json":
        try:
            result = json.loads(Path(path).read_text("utf-8"))
            return {"kind": "result", **result.get("provenance", {}), "holds": ", ".join(result)}
        except (ValueError, AttributeError) as error:
            raise DataError(f"{path} is not a result that --json printed: {error}.") from error
    embedding = read_vectors(path)
    words, dim = embedding.vectors.shape
    return {"kind": "word vectors", "words": words, "dim": dim, "bytes": Path(path).stat().st_size}


def _made(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return what an artefact records of how it was made, with each setting as a fact."""
    facts: dict[str, Any] = {}
    for name, value in metadata.items():
        if name in ("kind", "qwem", "files", "digest"):
            continue
        if isinstance(value, dict):
            facts |= {inner: fact for inner, fact in value.items() if inner != "counts"}
        elif value not in (None, [], ""):
            facts[name] = value
    return facts


def _said(value: Any) -> str:
    """Return a fact in one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 100 else f"{text[:99]}…"
    return str(value)


SCALES = ("laptop", "laptop-sgd", "paper")


@command(
    corpus=argument("CORPUS", "text; the paper's is English Wikipedia", "+"),
    output=output("DIRECTORY"),
    scale=Option(
        SCALES,
        "laptop: for two cores (default); laptop-sgd: the same size, trained by SGD as in the "
        "paper, which takes far longer; paper: the paper's own, for a GPU",
        default="laptop",
    ),
    only=Option(str, "figures to make, such as fig2,table1 (default: all)", "NAMES"),
    analogies=Option(str, "a file of questions (default: google)", "F", default="google"),
    similarity=Option(
        str, "files of rated pairs (default: men and wordsim353, where available)", "F", nargs="+"
    ),
)
def reproduce(options: argparse.Namespace) -> None:
    """Make the paper's figures and tables from a text, and a page that shows them.

    qwem reproduce wiki.parquet -o figures --only fig2,table1
    """
    from qwem._internal.files import require_writable
    from qwem.paper import reproduce

    require_writable(Path(options.output, "index.html"))
    only = None if options.only is None else [name.strip() for name in options.only.split(",")]
    result = reproduce(
        options.corpus,
        options.output,
        scale=options.scale,
        only=only,
        analogies=options.analogies,
        similarity=options.similarity,
    )
    found = {name: record["findings"] for name, record in result.records.items()}
    report = {
        "output": str(result.page),
        "findings": found,
        "failures": result.failures,
        **costs(result.seconds),
    }
    rows = [
        (name if place == 0 else "", sentence)
        for name, sentences in found.items()
        for place, sentence in enumerate(sentences)
    ]
    rows += [(name, f"could not be made: {reason}") for name, reason in result.failures.items()]
    emit(options, report, [*rows, *cost_rows(report), ("written", str(result.page))])
    if result.failures:
        raise QwemError(
            f"{', '.join(result.failures)} could not be made, for the reasons above; the page "
            "shows the others."
        )
