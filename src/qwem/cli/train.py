"""Train word2vec or QWEM by gradient descent, and write a trace and a model.

The defaults are QWEM, the paper's model, with the exact gradient. word2vec is --loss logistic
--reweighting word2vec --optimizer adam. The same command continues an interrupted run; with a later
end, it continues a finished one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from qwem.cli.options import (
    add_corpus_options,
    add_count_options,
    add_preset_option,
    add_threads_option,
    given_settings,
    source_of,
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem train``."""
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="text files, one encoded corpus, or saved counts"
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIRECTORY")
    add_preset_option(parser)
    _add_model_options(parser)
    _add_descent_options(parser)
    _add_trace_options(parser)
    add_corpus_options(parser)
    add_count_options(parser)
    add_threads_option(parser)


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument("--dim", type=int, metavar="D", help="dimensions (default: 200)")
    group.add_argument(
        "--loss", choices=("quartic", "logistic"), help="QWEM's loss (default) or word2vec's"
    )
    group.add_argument(
        "--reweighting",
        choices=("setting31", "word2vec", "none"),
        help="weights of pairs: the paper's Setting 3.1 (default), word2vec's, or none",
    )
    group.add_argument(
        "--negatives", type=float, metavar="K", help="negatives per positive pair (default: 1)"
    )
    group.add_argument(
        "--exponent",
        type=float,
        metavar="E",
        help="power of frequency from which word2vec's negatives are drawn (default: 0.75)",
    )
    group.add_argument(
        "--normalization",
        choices=("samples", "words"),
        help="whether --negatives is the number of samples (default) or, as in the paper, the mean "
        "weight of a word",
    )
    group.add_argument(
        "--coupling", type=float, metavar="A", help="also weight word i by P_i^A (default: 0)"
    )
    group.add_argument(
        "--shrinkage",
        type=float,
        metavar="A",
        help="evidence that a pair of words must overcome (default: 0)",
    )
    group.add_argument(
        "--untied",
        dest="tied",
        action="store_false",
        default=None,
        help="learn context vectors separately from word vectors",
    )


def _add_descent_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("gradient descent")
    group.add_argument(
        "--gradient",
        choices=("population", "stochastic"),
        help="exact gradient from the counts (default), or minibatches from the text",
    )
    group.add_argument(
        "--optimizer",
        choices=("sgd", "rk4", "adam"),
        help="plain steps (default), fourth-order steps of the gradient flow, or Adam",
    )
    group.add_argument(
        "--rate",
        type=float,
        metavar="R",
        help="learning rate (default: 0.05 for Adam, otherwise half of the largest stable rate)",
    )
    group.add_argument(
        "--schedule",
        choices=("constant", "stepwise", "linear"),
        help="of the learning rate: constant (default); stepwise, the paper's, a tenth of the rate "
        "after three quarters of the time (--until) or of the steps (--steps); or linear to zero",
    )
    group.add_argument(
        "--init-scale",
        type=_init_scale,
        metavar="S",
        help="size of the random start (default: 0.01), or word2vec for that of word2vec.c",
    )
    group.add_argument(
        "--scale-of",
        choices=("entry", "vector", "mode"),
        help="what --init-scale measures: entries (default), word vectors, or singular values",
    )
    group.add_argument("--steps", type=int, metavar="N", help="end after N steps (default: 1000)")
    group.add_argument("--until", type=float, metavar="T", help="end at the paper's time t = T")
    group.add_argument(
        "--precision",
        choices=("auto", "float32", "float64"),
        help="auto (default) is float64 for very small starts, otherwise float32",
    )
    group.add_argument(
        "--batch-size", type=int, metavar="N", help="pairs per minibatch (default: 100000)"
    )
    group.add_argument(
        "--flatten",
        type=float,
        metavar="B",
        help="draw rare words more often, from 0 (default) to 1, with the same expected gradient",
    )


def _add_trace_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("trace")
    group.add_argument(
        "--record-every", type=int, metavar="N", help="steps between records (default: 10)"
    )
    group.add_argument(
        "--snapshot-every", type=int, metavar="N", help="steps between snapshots of the vectors"
    )
    group.add_argument(
        "--checkpoint-every", type=int, metavar="N", help="steps between checkpoints (default: 100)"
    )
    group.add_argument(
        "--analogies", metavar="FILE", help="record accuracy on a file of analogies, or on google"
    )


def run(options: argparse.Namespace) -> None:
    """Run ``qwem train``."""
    from qwem.evaluation import evaluate_analogies, read_analogies
    from qwem.model import Settings, refuse_settled
    from qwem.recipes import TrainingSettings, run_training

    given = {entry.name: getattr(options, entry.name, None) for entry in fields(TrainingSettings)}
    training = TrainingSettings(**{k: value for k, value in given.items() if value is not None})
    model = _PAPER_MODEL if options.preset is None else {}
    source, settings = source_of(options.inputs), given_settings(options)
    # word2vec's reweighting has its own use for the threshold of subsampling.
    own = {"subsample"} if training.reweighting == "word2vec" else set()
    refuse_settled(source, [name for name in settings if name not in own])
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


def _init_scale(text: str) -> float | str:
    return text if text == "word2vec" else float(text)


def _number(value: float) -> float | None:
    """Return a number for JSON, in which NaN is null."""
    return float(value) if value == value else None
