"""The `qwem` command: one module for each subcommand, which parses and prints, nothing more."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import TYPE_CHECKING

from qwem import __version__
from qwem.cli import (
    analogy,
    compare,
    concept,
    count,
    demo,
    encode,
    evaluate,
    export,
    features,
    fit,
    report,
    reproduce,
    similar,
    train,
)
from qwem.errors import QwemError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    demo,
    fit,
    report,
    similar,
    analogy,
    evaluate,
    features,
    concept,
    compare,
    train,
    reproduce,
    export,
    encode,
    count,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, or 2 where the input was at fault."""
    logging.basicConfig(format="qwem: %(message)s", level=logging.WARNING)
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
    except QwemError as error:
        sys.stderr.write(f"qwem: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("qwem: interrupted; what was finished is kept.\n")
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="qwem",
        description="Word embeddings in closed form: count, build the target matrix, factorise.",
    )
    parser.add_argument("--version", action="version", version=f"qwem {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        summary = (module.__doc__ or "").partition("\n")[0].rstrip(".")
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="print JSON for machines")
        command.set_defaults(run=module.run)
    return parser
