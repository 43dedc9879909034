"""Train word2vec or QWEM for real, and write a trace and a model.

The defaults are QWEM, the paper's model, by the exact gradient; word2vec is --loss logistic
--weighting word2vec --optimizer adam. Interrupted, the same command goes on where it was; with a
later end, it goes on from the end.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

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

_UNSET: dict[str, Any] = {"default": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem train``."""
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="text, or one encoded corpus, or saved counts"
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIRECTORY")
    add_preset_option(parser)
    group = parser.add_argument_group("training")
    group.add_argument("--dim", type=int, metavar="D", **_UNSET, help="dimensions (default: 200)")
    group.add_argument(
        "--loss", choices=("quartic", "logistic"), **_UNSET,
        help="QWEM's, the default, or word2vec's",
    )  # fmt: skip
    group.add_argument(
        "--weighting", choices=("setting31", "word2vec", "none"), **_UNSET,
        help="of pairs: the paper's Setting 3.1 (default), word2vec's, or none",
    )  # fmt: skip
    group.add_argument(
        "--coupling", type=float, metavar="A", **_UNSET, help="weigh word i by P_i^A besides"
    )
    group.add_argument(
        "--gradient", choices=("population", "stochastic"), **_UNSET,
        help="exact from the counts (default), or from minibatches of the text",
    )  # fmt: skip
    group.add_argument(
        "--optimizer", choices=("sgd", "rk4", "adam"), **_UNSET,
        help="plain steps (default), fourth-order steps of the gradient flow, or Adam",
    )  # fmt: skip
    group.add_argument(
        "--rate", type=float, metavar="R", **_UNSET,
        help="default: 0.05 for Adam, otherwise half of the largest stable one",
    )  # fmt: skip
    group.add_argument(
        "--init-scale",
        type=float,
        metavar="S",
        **_UNSET,
        help="of the random start (default: 0.01)",
    )
    group.add_argument(
        "--steps", type=int, metavar="N", **_UNSET, help="when to end (default: after 1000)"
    )
    group.add_argument(
        "--until", type=float, metavar="T", **_UNSET, help="end at this time, the paper's t"
    )
    group.add_argument(
        "--untied", dest="tied", action="store_false", **_UNSET,
        help="learn context vectors apart from word vectors",
    )  # fmt: skip
    group.add_argument("--precision", choices=("float32", "float64"), **_UNSET)
    group.add_argument(
        "--threshold", type=float, metavar="T", **_UNSET,
        help="of subsampling in word2vec's weighting (default: 1e-3)",
    )  # fmt: skip
    group.add_argument(
        "--exponent", type=float, metavar="E", **_UNSET,
        help="of frequency in word2vec's negative samples (default: 0.75)",
    )  # fmt: skip
    group.add_argument(
        "--negative-samples", type=float, metavar="K", **_UNSET,
        help="for each positive one in word2vec's weighting (default: 5)",
    )  # fmt: skip
    group.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        **_UNSET,
        help="pairs in a minibatch (default: 100000)",
    )
    group.add_argument(
        "--flatten", type=float, metavar="B", **_UNSET,
        help="draw rare words more often, from 0 (default) to 1, at the same expectation",
    )  # fmt: skip
    group = parser.add_argument_group("trace")
    group.add_argument(
        "--record-every", type=int, metavar="N", **_UNSET, help="steps (default: 10)"
    )
    group.add_argument("--snapshot-every", type=int, metavar="N", **_UNSET, help="keep the vectors")
    group.add_argument(
        "--checkpoint-every", type=int, metavar="N", **_UNSET, help="steps (default: 100)"
    )
    group.add_argument(
        "--analogies", metavar="FILE", help="record accuracy on a file of analogies, or google"
    )
    add_corpus_options(parser)
    add_count_options(parser)
    add_threads_option(parser)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem train``."""
    from qwem.evaluation import evaluate_analogies, read_analogies
    from qwem.model import Settings
    from qwem.recipes import TrainingSettings, run_training

    own = {entry.name for entry in fields(TrainingSettings)}
    training = TrainingSettings(
        **{name: value for name in own if (value := getattr(options, name, None)) is not None}
    )
    shared = {name: value for name, value in given_settings(options).items() if name not in own}
    questions = None if options.analogies is None else read_analogies(options.analogies)
    done = run_training(
        source_of(options.inputs),
        options.output,
        training,
        Settings.of(options.preset, **shared),
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
    """Return a number that JSON knows: an unknown one is null."""
    return float(value) if value == value else None
