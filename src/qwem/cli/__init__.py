"""The `qwem` command: parsing and printing only; commands are grouped by what one wants to do."""

from __future__ import annotations

import argparse
import logging
import sys
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.resources import threads
from qwem.cli import ask, demo, learn, look, share, testing
from qwem.cli.failures import INPUT_AT_FAULT, run_command
from qwem.cli.parser import SHELLS, Parser, PrintCompletion, option_names

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUPS: dict[str, dict[str, Any]] = {
    "learn": {
        "demo": demo,
        "fit": learn.fit,
        "update": learn.update,
        "count": learn.count,
        "train": learn.train,
    },
    "ask": {"similar": ask.similar, "features": ask.features, "axis": ask.axis},
    "test": {
        "evaluate": testing.evaluate,
        "weat": testing.weat,
        "compare": testing.compare,
        "regression": testing.regression,
    },
    "look": {"report": look.report, "explore": look.explore},
    "share": {"export": share.export, "info": share.info, "reproduce": share.reproduce},
}
"""The commands by what one wants to do: modules or `Command`s."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 2 for bad input, or 128 plus a signal."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)  # some libraries set levels of their own
    # Errors say what becomes of a cluster; Dask logs each step, and tracebacks of lost connections.
    handler.addFilter(lambda record: not record.name.startswith(("distributed", "tornado")))
    logging.basicConfig(format="qwem: %(message)s", level=logging.WARNING, handlers=[handler])
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser(arguments)
    if not arguments:
        parser.print_help(sys.stderr)
        return INPUT_AT_FAULT
    options = parser.parse_args(arguments)

    def run() -> None:
        with threads(getattr(options, "threads", None)):
            options.run(options)

    return run_command(run, lambda: option_names(build_parser()))


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of what these arguments need of it."""
    complete = arguments is None or any(item.startswith("--completion") for item in arguments)
    parser = Parser(
        prog="qwem",
        usage="qwem COMMAND …",
        description="Word embeddings in closed form: count, build the target matrix, factorize.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"qwem {__version__}")
    parser.add_argument(
        "--completion", choices=SHELLS, action=PrintCompletion,
        help="print a script that completes commands in a shell",
    )  # fmt: skip
    commands = parser.add_subparsers(
        metavar="COMMAND", required=True, help=argparse.SUPPRESS, prog="qwem"
    )
    listed = ["Commands, each with its own --help:"]
    for title, group in GROUPS.items():
        listed += ["", f"{title}:"]
        for name, each in group.items():
            run = each.run
            about = (getattr(each, "__file__", None) and each.__doc__) or run.__doc__
            description = "\n".join(line.strip() for line in about.splitlines())
            summary = description.partition("\n")[0].rstrip(".")
            listed.append(f"  {name:<12}{summary}")
            command = commands.add_parser(name, description=description)
            if complete or name in arguments:  # type: ignore[operator]
                each.add_arguments(command)
            command.add_argument("--json", action="store_true", help="print JSON, for programs")
            command.set_defaults(run=run)
    parser.epilog = "\n".join(listed)
    return parser
