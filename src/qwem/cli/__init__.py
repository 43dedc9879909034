"""The `qwem` command: one module per subcommand, which parses options and prints results."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from qwem import __version__
from qwem.cli import (
    analogy,
    axis,
    changes,
    check,
    compare,
    concept,
    count,
    demo,
    embed,
    encode,
    evaluate,
    explore,
    export,
    features,
    fit,
    regression,
    report,
    reproduce,
    similar,
    stability,
    train,
    update,
    weat,
)
from qwem.cli.completion import SHELLS, PrintCompletion, option_names
from qwem.cli.failures import INPUT_AT_FAULT, run_command
from qwem.cli.parser import Parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

COMMANDS = (
    demo,
    fit,
    update,
    report,
    explore,
    similar,
    embed,
    analogy,
    evaluate,
    features,
    concept,
    axis,
    weat,
    stability,
    changes,
    regression,
    compare,
    train,
    reproduce,
    export,
    encode,
    count,
    check,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 2 for bad input, or 128 plus a signal."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)  # some libraries set levels of their own
    # Errors say what becomes of a cluster; Dask logs each step, and tracebacks of lost connections.
    handler.addFilter(lambda record: not record.name.startswith(("distributed", "tornado")))
    logging.basicConfig(format="qwem: %(message)s", level=logging.WARNING, handlers=[handler])
    parser = build_parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return INPUT_AT_FAULT
    options = parser.parse_args(arguments)
    return run_command(lambda: options.run(options), option_names(parser))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="qwem",
        description="Word embeddings in closed form: count, build the target matrix, factorize.",
    )
    parser.add_argument("--version", action="version", version=f"qwem {__version__}")
    parser.add_argument(
        "--completion", choices=SHELLS, action=PrintCompletion,
        help="print a script that completes commands in a shell",
    )  # fmt: skip
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        summary = (module.__doc__ or "").partition("\n")[0].rstrip(".")
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="print JSON, for programs")
        command.set_defaults(run=module.run)
    return parser
