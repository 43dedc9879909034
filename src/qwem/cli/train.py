"""Train word2vec or QWEM by gradient descent, and write a trace and a model.

The defaults are QWEM, the paper's model, with the exact gradient; --preset practical takes the
model of qwem fit instead. word2vec is --loss logistic --reweighting word2vec --optimizer adam. The
same command continues an interrupted run; with a later end, it continues a finished one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from qwem.cli.inputs import add_files, source_of
from qwem.cli.options import (
    EMBEDDING,
    TARGET,
    Option,
    add_options,
    add_settings,
    given,
    given_settings,
    number,
    whole,
)
from qwem.cli.output import command, cost_rows, costs, emit

if TYPE_CHECKING:
    import argparse

_PAPER_MODEL = {
    "window": 16,
    "subsample": None,
    "negatives": 1.0,
    "shrinkage": 0.0,
    "coupling": 0.0,
    "signed": False,
}
"""The target that is trained towards if no preset is given."""


def init_scale(text: str) -> float | str:
    """Return a number, or "word2vec"."""
    return text if text == "word2vec" else number(text)


MODEL = {
    "dim": EMBEDDING["dim"],
    "loss": Option(("quartic", "logistic"), "QWEM's loss (default) or word2vec's"),
    "reweighting": Option(
        ("setting31", "word2vec", "none"),
        "weights of pairs: the paper's Setting 3.1 (default), word2vec's, or none",
    ),
    **TARGET,
    "exponent": Option(
        number, "power of frequency from which word2vec's negatives are drawn (default: 0.75)", "E"
    ),
    "normalization": Option(
        ("samples", "words"),
        "whether --negatives is the number of samples (default) or, as in the paper, the mean "
        "weight of a word",
    ),
}
DESCENT = {
    "gradient": Option(
        ("population", "stochastic"),
        "exact gradient from the counts (default), or minibatches from the text",
    ),
    "optimizer": Option(
        ("sgd", "rk4", "adam"),
        "plain steps (default), fourth-order steps of the gradient flow, or Adam",
    ),
    "rate": Option(
        number,
        "learning rate (default: 0.05 for Adam, otherwise half of the largest stable rate)",
        "R",
    ),
    "schedule": Option(
        ("constant", "stepwise", "linear"),
        "learning rate over time: constant (default); stepwise, as in the paper, a tenth of the "
        "rate after three quarters of the time (--until) or of the steps (--steps); or linear, "
        "down to zero",
    ),
    "init_scale": Option(
        init_scale,
        "size of the random start (default: 0.01), or word2vec for that of word2vec.c",
        "S",
    ),
    "scale_of": Option(
        ("entry", "vector", "mode"),
        "what --init-scale measures: entries (default), word vectors, or singular values",
    ),
    "steps": Option(whole, "end after N steps (default: 1000)", "N"),
    "until": Option(number, "end at the paper's time t = T", "T"),
    "precision": Option(
        ("auto", "float32", "float64"),
        "auto (default) is float64 for very small starts, otherwise float32",
    ),
    "batch_size": Option(whole, "pairs per minibatch (default: 100000)", "N"),
    "flatten": Option(
        number,
        "draw rare words more often, from 0 (default) to 1, with the same expected gradient",
        "B",
    ),
}
TRACE = {
    "record_every": Option(whole, "steps between records (default: 10)", "N"),
    "snapshot_every": Option(whole, "steps between snapshots of the vectors (default: none)", "N"),
    "checkpoint_every": Option(whole, "steps between checkpoints (default: 100)", "N"),
    "analogies": Option(str, "record accuracy on a file of analogies, or on google", "FILE"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem train``."""
    add_files(
        parser, "text (- is standard input), one encoded corpus, or saved counts", "DIRECTORY"
    )
    add_options(parser, MODEL, "model").add_argument(
        "--untied",
        dest="tied",
        action="store_false",
        default=None,
        help="learn context vectors separately from word vectors",
    )
    add_options(parser, DESCENT, "gradient descent")
    add_options(parser, TRACE, "trace")
    add_settings(parser, "reading", "counting")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem train``."""
    from qwem.evaluation import evaluate_analogies, read_analogies
    from qwem.model import Settings, reject_fixed_settings
    from qwem.training.from_text import TrainingSettings, run_training

    names = [field.name for field in fields(TrainingSettings)]
    training = TrainingSettings(**given(options, names))
    model = _PAPER_MODEL if options.preset is None else {}
    source, settings = source_of(options.inputs), given_settings(options)
    # word2vec's reweighting has its own use for the threshold of subsampling.
    own = {"subsample"} if training.reweighting == "word2vec" else set()
    reject_fixed_settings(source, [name for name in settings if name not in own])
    questions = None if options.analogies is None else read_analogies(options.analogies)
    done = run_training(
        source,
        options.output,
        training,
        Settings.of(options.preset, **{**model, **settings}),
        accuracy=None
        if questions is None
        else lambda embedding: evaluate_analogies(embedding, questions).accuracy,
        threads=options.threads,
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
        ("next", f"{command()} similar {done.model_path} WORD"),
    ]
    emit(options, report, rows)


def _number(value: float) -> float | None:
    """Return a number for JSON, in which NaN is null."""
    return float(value) if value == value else None
