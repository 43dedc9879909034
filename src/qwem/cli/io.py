"""Inputs and outputs of commands: text, counts, vectors, clusters; tables, JSON, figures."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.files import is_url
from qwem._internal.resources import end_heartbeat, peak_memory, printable, text_table
from qwem._internal.results import as_plain
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from qwem._internal.results import Result, ShownTable
    from qwem.comparison import Stability
    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum


def source_of(inputs: list[str]) -> Any:
    """Load one encoded corpus or one set of counts; return other inputs as paths of text."""
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
    """Load inputs that must have documents: one encoded corpus, or else paths of text."""
    from qwem.cooccurrence import Cooccurrence

    source = source_of(inputs)
    if isinstance(source, Cooccurrence):
        raise SettingError(f"Counts have no documents {purpose}; give the text.")
    return source


def text_paths(inputs: list[str]) -> list[str | Path]:
    """Return the paths and URLs of text; - is standard input."""
    if "" in inputs:
        raise SettingError("One of the inputs has an empty name; give a file or directory.")
    return [
        item if is_url(item) else Path("/dev/stdin" if item == "-" else item) for item in inputs
    ]


def load_embedding(options: argparse.Namespace) -> Embedding:
    """Return the embedding of MODEL, with --dim dimensions."""
    return load_vectors(options.model, options.dim)


def load_vectors(path: str, dim: int | None = None) -> Embedding:
    """Return the embedding of a model, saved vectors, or a file or folder of word vectors."""
    from qwem._internal.artefact import kind_of
    from qwem.embedding import Embedding
    from qwem.model import Model, load

    kind = kind_of(path)
    if kind == "stability":  # a model with replicates
        return Model.load(Path(path, "model")).embedding(dim=dim)
    if kind == "model":
        return Model.load(path).embedding(dim=dim)
    if dim is not None:
        raise SettingError(f"--dim needs a model, and {path} is not one.")
    found = load(path) if kind in (None, "hub") else Embedding.load(path)
    assert isinstance(found, Embedding)
    return found


def load_stability(options: argparse.Namespace) -> Stability | None:
    """Return the model with its replicates, or None if it has none or --dim is given."""
    from qwem._internal.artefact import kind_of
    from qwem.comparison import Stability

    if kind_of(options.model) != "stability" or options.dim is not None:
        return None
    return Stability.load(options.model)


def load_spectrum(options: argparse.Namespace) -> Spectrum | Embedding:
    """Return the spectrum of a model, or the vectors of anything else."""
    from qwem._internal.artefact import kind_of
    from qwem.model import Model

    if kind_of(options.model) != "model":
        return load_embedding(options)
    spectrum = Model.load(options.model).spectrum
    return spectrum if options.dim is None else spectrum.restrict(options.dim)


def wants_cluster(options: argparse.Namespace) -> bool:
    """Return whether the options name a cluster."""
    return options.cluster is not None or options.local_cluster is not None


@contextmanager
def on_cluster(options: argparse.Namespace) -> Iterator[tuple[Any, list[str | Path], Path]]:
    """Yield the cluster, the text, and the directory of shards, which is removed on success."""
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
        yield client, paths, shards
    remove_results(shards)


_FORMATS = (".png", ".pdf", ".svg")


def emit(
    options: argparse.Namespace, report: dict[str, Any], shown: str | Sequence[Sequence[str]]
) -> None:
    """Print `report` as JSON with --json, and otherwise `shown`: text or rows of a table.

    If the command's output goes to standard output, this goes to standard error.
    """
    if options.json:
        text = json.dumps(report, ensure_ascii=False) + "\n"
    else:
        text = shown if isinstance(shown, str) else text_table(shown)
    end_heartbeat()
    taken = getattr(options, "output", None) in ("-", "/dev/stdout")
    stream = sys.stderr if taken else sys.stdout
    stream.write(printable(text, stream.encoding))


def emit_result(
    options: argparse.Namespace, result: Result, shown: ShownTable | None = None, **beside: Any
) -> None:
    """Print a result as a table, or as JSON with what is shown and the fields `beside`."""
    text = result.to_text() if shown is None else shown.to_text()
    if getattr(options, "methods", None) and hasattr(result, "methods"):
        beside["methods"] = result.methods()
        text += f"\n{beside['methods']}"
    emit(options, {**plain(result, shown), **beside}, text)


def plain(result: Result, shown: ShownTable | None = None) -> dict[str, Any]:
    """Return a result for JSON, with its table as shown, for `qwem report --results`."""
    return {**result.to_dict(), "shown": as_plain(result.shown() if shown is None else shown)}


def emit_run(
    options: argparse.Namespace,
    report: dict[str, Any],
    rows: Sequence[tuple[str, str]],
    seconds: dict[str, float],
    next_step: str | None = None,
) -> None:
    """Print what a command wrote to its output, what that cost, and what to try next."""
    report = {"output": options.output, **report, **costs(seconds)}
    rows = [*rows, *cost_rows(report), ("written", options.output)]
    if next_step:
        rows.append(("next", f"{program()} {next_step}"))
    emit(options, report, rows)


def emit_page(options: argparse.Namespace, page: Path) -> None:
    """Print where a page was written to, and how large it is."""
    if not page.is_file():  # a pipe, or standard output
        emit(options, {"output": str(page)}, [("written", str(page))])
        return
    size = page.stat().st_size
    emit(
        options,
        {"output": str(page), "bytes": size},
        [("written", f"{page}: {size / 1e6:.1f} MB, open it in a browser")],
    )


def program() -> str:
    """Return how to call this program again: by name, or by path if the shell can't find it."""
    called = sys.argv[0]
    if Path(called).name == "qwem" and shutil.which("qwem") is None:
        return called
    return "qwem"


def costs(seconds: dict[str, float]) -> dict[str, Any]:
    """Return what a run cost: seconds per stage and in total, and peak memory."""
    return {
        "seconds": {
            **{stage: round(taken, 3) for stage, taken in seconds.items()},
            "total": round(sum(seconds.values()), 3),
        },
        "peak_memory_bytes": peak_memory(),
    }


def cost_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows that show what a run cost."""
    stages = ", ".join(f"{stage} {taken:.1f} s" for stage, taken in report["seconds"].items())
    return [("time", stages), ("memory", f"{report['peak_memory_bytes'] / 1e9:.2f} GB at most")]


def check_figure(options: argparse.Namespace, *replicates: object) -> None:
    """Raise an error before the work if the requested figure can't be drawn or written.

    A figure of intervals needs `replicates` that are not None.
    """
    if options.figure is None:
        return
    if None in replicates:
        raise SettingError(
            "--figure draws intervals over documents, which need a model with replicates; make one "
            "with qwem fit --folds."
        )
    from qwem._internal.files import require_writable_file
    from qwem._internal.resources import require

    if Path(options.figure).suffix.lower() not in _FORMATS:
        raise SettingError(
            f"--figure takes a file whose name ends in {', '.join(_FORMATS[:-1])} or "
            f"{_FORMATS[-1]}, not {options.figure}."
        )
    require("matplotlib", "plot")
    require_writable_file(options.figure)


def draw(options: argparse.Namespace, result: Any, *arguments: str) -> None:
    """Write the figure of a result, if --figure is given."""
    if options.figure is not None:
        from qwem._internal.figures import write_figure

        write_figure(result.plot(*arguments), options.figure)


def words_to_try(embedding: Embedding, count: int = 7) -> list[str]:
    """Return words of the text that have clear neighbours, from frequent to rarer ones.

    The most frequent words are skipped, since they have none. One word is taken from each range of
    frequencies: not the one with the nearest neighbours, which would be a number or a month, but
    the one at the ninetieth percentile. Neighbours of earlier choices are excluded, and so are
    words that are shorter than most, such as initials.
    """
    size = min(len(embedding), 2000)
    words = embedding.index_to_key[min(size // 20, 100) : size] or embedding.index_to_key
    near = embedding.most_similar_each(words, topn=30, restrict_vocab=size)
    closeness = [sum(cosine for _, cosine in found[:5]) for found in near]
    usual = sorted(map(len, words))[len(words) // 2]
    seen = {word for word in words if len(word) < usual}
    chosen: list[str] = []
    for n in range(count):
        rows = range(n * len(words) // count, (n + 1) * len(words) // count)
        fresh = sorted((row for row in rows if words[row] not in seen), key=closeness.__getitem__)
        if fresh:
            row = fresh[len(fresh) * 9 // 10]
            chosen.append(words[row])
            seen |= {words[row], *(word for word, _ in near[row])}
    return chosen
