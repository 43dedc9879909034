"""Commands that learn: fit, update, count and train."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem._internal.settings import Whole
from qwem.cli.io import (
    cost_rows,
    costs,
    emit,
    emit_run,
    on_cluster,
    plain,
    program,
    source_of,
    text_of,
    text_paths,
    wants_cluster,
    words_to_try,
)
from qwem.cli.options import (
    CLUSTER,
    GROUPS,
    INPUTS,
    THREADS,
    Option,
    argument,
    command,
    output,
    passed,
    passed_settings,
    setting_options,
    topn,
)
from qwem.errors import SettingError
from qwem.model import Settings
from qwem.model.settings import PRESETS
from qwem.training.settings import TrainingSettings

if TYPE_CHECKING:
    import argparse

    from qwem._internal.resources import Stopwatch
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.model import Model

FOLDS = {
    "folds": Option(
        Whole(2, 100_000),
        "divide the documents into K random folds and fit a replicate without each, so that other "
        "commands show standard errors",
        "K",
    ),
    "method": Option(
        ("jackknife", "bootstrap"), "leave out each fold (default), or weight folds at random"
    ),
    "replicates": Option(
        Whole(2, 100_000), "number of replicates of the bootstrap (default: 50)", "N"
    ),
}


@command(
    "read", "count", "target", "factorize", "polish",
    inputs=INPUTS,
    output=output("MODEL"),
    keep_counts=Option(bool, "keep the counts, so that the model can be updated (default: no)"),
    **FOLDS,
    groups=GROUPS,
    **CLUSTER,
)  # fmt: skip
def fit(options: argparse.Namespace) -> None:
    """Learn word embeddings from text.

    The defaults give good vectors in little time. --preset best uses the spelling of words too and
    takes half as long again, --preset paper is the paper's model, and --no-polish the
    pure closed form. With --folds the result has replicates, and similar, axis, weat, report and
    explore show how much results depend on the documents.

        qwem fit wiki.parquet -o model
        qwem fit speeches/ -o model --documents file --dim 100
        qwem fit posts.jsonl -o model --text body --folds 20
    """
    from qwem._internal.artefact import require_replaceable

    dealt = [name for name in ("method", "replicates", "groups") if getattr(options, name)]
    if options.folds is None and dealt:
        raise SettingError(f"`{dealt[0]}` is for replicates; add `folds=20`.")
    require_replaceable(options.output, "model" if options.folds is None else "stability")
    replicates = None
    if options.folds is not None:
        model, replicates = _fit_folds(options)
    elif wants_cluster(options):
        model = _fit_on_cluster(options)
    else:
        from qwem.model import fit

        model = fit(
            source_of(options.inputs),
            preset=options.preset,
            **passed(options, ["keep_counts"]),
            **passed_settings(options),
        )
    if replicates is None:
        model.save(options.output)
    spectrum = model.spectrum
    report = {
        "vocab_size": len(model.vocabulary),
        "dim": spectrum.dim,
        "chosen": model.chosen,
        "converged": spectrum.converged,
        "settings": model.settings,
        "corpus": model.corpus,
        **(replicates or {}),
    }
    values = spectrum.eigenvalues
    rows = [
        ("chosen", model.chosen),
        ("spectrum", f"{len(values)} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}"),
    ]
    if replicates:
        rows.append(("replicates", f"{replicates['replicates']} ({replicates['method']})"))
    word = words_to_try(model.embedding(), 1)[0]
    emit_run(options, report, rows, model.seconds, next_step=f"similar {options.output} {word}")


def _fit_folds(options: argparse.Namespace) -> tuple[Model, dict[str, Any]]:
    """Fit a model with replicates and save it; return it, and facts about the replicates."""
    from qwem.comparison import stability

    if options.keep_counts or wants_cluster(options):
        raise SettingError("--folds works on one machine; leave out --keep-counts and clusters.")
    found = stability(
        text_of(options.inputs, "to deal into folds"),
        preset=options.preset,
        groups=options.groups,
        **passed(options, FOLDS),
        **passed_settings(options),
    )
    found.save(options.output)
    return found.model, {"method": found.method, "replicates": len(found.replicates)}


def _fit_on_cluster(options: argparse.Namespace) -> Model:
    from qwem.cluster import fit_files

    if options.keep_counts:
        raise SettingError(
            "A model fitted on a cluster can't keep its counts; leave out --keep-counts."
        )
    settings = Settings.of(options.preset, **passed_settings(options))
    with on_cluster(options) as there:
        return fit_files(*there, settings)


@command(
    model=argument("MODEL", "a model fitted with --keep-counts"),
    inputs=argument(
        "INPUT", "text to add (- is standard input), one encoded corpus, or saved counts", "*"
    ),
    remove=Option(str, "text to remove, or its counts", "INPUT", nargs="+"),
    output=output("MODEL", "directory to write (default: the model itself)", required=False),
    topn=topn("words that changed most"),
    **setting_options("read", names=("documents", "text", "query", "encoding", "errors")),
    threads=THREADS,
)
def update(options: argparse.Namespace) -> None:
    """Add text to a model, or remove some, without another fit.

    The model must have been fitted with --keep-counts. The features, words and neighbours that
    changed most are printed.

        qwem update model new-speeches.txt
    """
    from qwem._internal.artefact import require_replaceable, updating
    from qwem._internal.resources import text_table
    from qwem.comparison import diff_models
    from qwem.model import Model

    options.output = options.output or options.model
    require_replaceable(options.output, "model")
    with updating(options.output):
        before = Model.load(options.model)
        after = before.update(
            source_of(options.inputs) if options.inputs else None,
            remove=source_of(options.remove) if options.remove else None,
            **passed_settings(options),
        )
        moved = diff_models(before, after, topn=options.topn)
        after.save(options.output, names_from=options.model)
    report = {"output": options.output, "moved": plain(moved), **costs(after.seconds)}
    rows = [*cost_rows(report), ("written", options.output)]
    emit(options, report, moved.to_text() + text_table(rows))


@command(
    "read", "count",
    inputs=argument("INPUT", "text (- is standard input), encoded corpora, or saved counts", "+"),
    output=output("COUNTS", required=False),
    corpus=Option(
        str,
        "write the encoded text to this directory, to be counted or trained on later; without -o "
        "nothing is counted",
        "CORPUS",
    ),
    **CLUSTER,
)  # fmt: skip
def count(options: argparse.Namespace) -> None:
    """Count how often words occur together, or add up saved counts.

    The inputs are text files, encoded corpora, or saved counts. Saved counts are added, and may
    have different vocabularies.

        qwem count wiki.parquet -o counts
        qwem count january february -o both
    """
    from qwem._internal.artefact import require_replaceable
    from qwem._internal.resources import Stopwatch

    if options.output is None and options.corpus is None:
        raise SettingError("There is nothing to write; name the counts with -o, or a --corpus.")
    for path, kind in ((options.output, "cooccurrence"), (options.corpus, "corpus")):
        if path is not None:
            require_replaceable(path, kind)
    watch = Stopwatch()
    corpora = _corpora(options, watch)
    report: dict[str, Any] = {}
    rows: list[tuple[str, str]] = []
    if options.corpus is not None:
        (corpus,) = corpora
        with watch.stage("save"):
            corpus.save(options.corpus)
        report |= {
            "corpus": options.corpus,
            "documents": len(corpus),
            "tokens": len(corpus.tokens),
            "vocab_size": len(corpus.vocabulary),
            "fingerprint": corpus.fingerprint,
        }
        rows.append(("corpus", f"{len(corpus):,} documents, {len(corpus.tokens):,} words"))
    if options.output is None:
        options.output = options.corpus
        rows.append(("vocabulary", f"{report['vocab_size']:,} words"))
    else:
        counts = _counts(options, corpora, watch)
        with watch.stage("save"):
            counts.save(options.output)
        pairs, words = counts.symmetric, int(counts.word_counts.sum())
        report |= {
            "vocab_size": len(counts.vocabulary),
            "words": words,
            "pairs": pairs.nnz,
            "total": pairs.total,
            "window": counts.window,
        }
        found = f"{pairs.nnz:,} within {counts.window} words, {pairs.total:,} in total weight"
        rows += [
            ("vocabulary", f"{len(counts.vocabulary):,} words, {words:,} occurrences"),
            ("pairs", found),
        ]
    emit_run(options, report, rows, watch.seconds)


def _corpora(options: argparse.Namespace, watch: Stopwatch) -> list[Corpus]:
    """Return the encoded corpora of the inputs; none for saved counts and on a cluster."""
    from qwem._internal.artefact import kind_of
    from qwem.corpus import Corpus
    from qwem.model.fitting import read
    from qwem.model.settings import reject_fixed_settings

    kinds = {kind_of(item) for item in options.inputs}
    if len(kinds) > 1 or kinds - {None, "cooccurrence", "corpus"}:
        found = ", ".join(sorted(kind or "text" for kind in kinds))
        raise SettingError(f"The inputs must all be text, all corpora or all counts, not {found}.")
    if options.corpus is not None and (wants_cluster(options) or kinds != {None}):
        raise SettingError("--corpus encodes text on this machine; give text, and no cluster.")
    if wants_cluster(options) or kinds == {"cooccurrence"}:
        return []
    with watch.stage("read"):
        changes = passed_settings(options)
        if kinds == {None}:
            settings = Settings.of(options.preset, **changes)
            return [read(text_paths(options.inputs), settings)]
        corpora = [Corpus.load(item) for item in options.inputs]
        reject_fixed_settings(corpora[0], changes)
        return corpora


def _counts(options: argparse.Namespace, corpora: list[Corpus], watch: Stopwatch) -> Cooccurrence:
    """Count corpora, or text on a cluster, or add up saved counts."""
    from qwem.cooccurrence import Cooccurrence
    from qwem.model.fitting import count

    changes = passed_settings(options)
    settings = Settings.of(options.preset, **changes)
    if wants_cluster(options):
        from qwem.cluster import count_files

        with watch.stage("count"), on_cluster(options) as there:
            return count_files(*there, settings)
    if corpora:
        with watch.stage("count"):
            return Cooccurrence.merge([count(corpus, settings) for corpus in corpora])
    if changes or options.preset:
        raise SettingError(
            "Saved counts can only be added up; give text to count with other settings."
        )
    with watch.stage("merge"):
        return Cooccurrence.merge(options.inputs)


PAPER_MODEL = {
    name: value
    for name, value in PRESETS["paper"].items()
    if name in Settings.options("count", "target", "factorize") and name != "dim"
}
"""The target that is trained towards if no preset is given: the paper's."""
TARGET_TRAINED = ("dim", "negatives", "shrinkage", "coupling")


@command(
    ("training", setting_options(of=TrainingSettings)),
    ("target", setting_options(names=TARGET_TRAINED, defaults=PAPER_MODEL)),
    ("reading", setting_options("read", defaults=PAPER_MODEL)),
    ("counting", setting_options("count", defaults=PAPER_MODEL)),
    inputs=INPUTS,
    output=output("DIRECTORY"),
    preset=Option(
        tuple(PRESETS),
        "what to train towards: the paper's target (default), the same with the paper's settings "
        "of reading too (paper), or the target of qwem fit (practical, best)",
    ),
    analogies=Option(str, "record accuracy on a file of analogies, or on google", "FILE"),
    **setting_options("", defaults=PAPER_MODEL),
    threads=THREADS,
)
def train(options: argparse.Namespace) -> None:
    """Train word2vec or QWEM by gradient descent, and write a trace and a model.

    The defaults are QWEM, the paper's model, with the exact gradient; --preset practical takes the
    model of qwem fit instead. word2vec is --loss logistic --reweighting word2vec --optimizer adam.
    The same command continues an interrupted run; with a later end, it continues a finished one.

        qwem train wiki.parquet -o run --steps 2000
    """
    from qwem.evaluation import evaluate_analogies, read_analogies
    from qwem.model.settings import reject_fixed_settings
    from qwem.training.from_text import run_training

    training = TrainingSettings(**passed(options, TrainingSettings.options()))
    source, changes = source_of(options.inputs), passed_settings(options)
    # word2vec's reweighting uses the threshold of subsampling too.
    own = {"subsample"} if training.reweighting == "word2vec" else set()
    reject_fixed_settings(source, [name for name in changes if name not in own])
    questions = None if options.analogies is None else read_analogies(options.analogies)
    done = run_training(
        source,
        options.output,
        training,
        Settings.of(options.preset, **{**({} if options.preset else PAPER_MODEL), **changes}),
        accuracy=None
        if questions is None
        else lambda embedding: evaluate_analogies(embedding, questions).accuracy,
    )
    trace = done.trace
    report = {
        "trace": str(done.trace_path),
        "model": str(done.model_path),
        "steps": int(trace.steps[-1]),
        "time": _number(trace.times[-1]),
        "loss": _number(trace.losses[-1]),
        "accuracy": _number(trace.accuracy[-1]),
        "settings": dict(trace.settings),
        **costs(done.seconds),
    }
    reached = "" if report["time"] is None else f", t = {report['time']:.4g}"
    rows = [
        ("trained", f"{report['steps']:,} steps{reached}, loss {report['loss']:.6g}"),
        *([("analogies", f"{report['accuracy']:.1%}")] if questions is not None else []),
        *cost_rows(report),
        ("written", f"{done.trace_path} and {done.model_path}"),
        ("next", f"{program()} similar {done.model_path} WORD"),
    ]
    emit(options, report, rows)


def _number(value: float) -> float | None:
    """Return a number for JSON, in which NaN is null."""
    return float(value) if value == value else None
