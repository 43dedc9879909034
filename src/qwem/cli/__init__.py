"""The `qwem` command: parsing and printing only; commands are grouped by what one wants to do."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, TextIO

from qwem import __version__
from qwem._internal.resources import during, end_heartbeat, printable, threads
from qwem.cli import ask, demo, learn, share, testing
from qwem.cli.options import SHELLS, Command, Parser, PrintCompletion, option_names, short_usage
from qwem.errors import QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import FrameType


GROUPS: dict[str, dict[str, Command]] = {
    "learn": {
        "demo": demo.demo,
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
    "look": {"report": share.report, "explore": share.explore},
    "share": {"export": share.export, "info": share.info, "reproduce": share.reproduce},
}
"""The commands by what one wants to do."""

INPUT_AT_FAULT = 2
"""Exit status for bad input."""


class _LogHandler(logging.StreamHandler[TextIO]):
    """Writes messages to standard error without breaking a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message on lines of its own."""
        from tqdm import tqdm

        with tqdm.external_write_mode(file=self.stream):
            super().emit(record)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 2 for bad input, or 128 plus a signal."""
    handler = _LogHandler()
    handler.setLevel(logging.WARNING)  # some libraries set levels of their own
    # Dask logs each step, and tracebacks of lost connections; our errors say what matters.
    handler.addFilter(lambda record: not record.name.startswith(("distributed", "tornado")))
    logging.basicConfig(format="qwem: %(message)s", level=logging.WARNING, handlers=[handler])
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser(arguments)
    if not arguments:
        parser.print_help(sys.stderr)
        return INPUT_AT_FAULT
    options = parser.parse_args(arguments)

    def run() -> None:
        with during("working"), threads(getattr(options, "threads", None)):
            options.run(options)

    return run_command(run, lambda: option_names(build_parser()))


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of the part that these arguments need."""
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
            summary, description, examples = each.documentation()
            listed.append(f"  {name:<12}{summary}")
            command = commands.add_parser(
                name,
                description=description,
                epilog=examples,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            if complete or name in arguments:  # type: ignore[operator]
                each.add_arguments(command)
            command.add_argument("--json", action="store_true", help="print JSON, for programs")
            command.usage = short_usage(command)
            command.set_defaults(run=each.run)
    parser.epilog = "\n".join(listed)
    return parser


_SIGNALS = ("SIGTERM", "SIGHUP")
_OF_TRAINING = ("jax", "jaxlib", "optax")
_REMEDIES = {
    errno.ENOSPC: "free some space, or choose another disk (TMPDIR, for temporary files)",
    errno.EDQUOT: "free some space, or choose another disk (TMPDIR, for temporary files)",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or choose another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EACCES: "choose another path, or change its permissions",
    errno.EPERM: "choose another path, or change its permissions",
    errno.EROFS: "choose another path",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.ELOOP: "check where the links lead",
    errno.EMFILE: "use fewer --threads, or raise the limit on open files (ulimit -n)",
}


class Stopped(KeyboardInterrupt):
    """Raised when a signal other than Ctrl-C asks the process to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_command(
    command: Callable[[], None], known: Callable[[], Collection[str]] = lambda: ()
) -> int:
    """Run a command and return its exit status: 0, 2 for bad input, or 128 plus a signal.

    Errors show settings that are `known` options in the spelling of the command line.
    """
    before = {number: signal.signal(number, _stop) for number in _signals()}
    try:
        command()
        sys.stdout.flush()
    except Stopped as stopped:
        return _say("stopped by a signal.", 128 + stopped.number)
    except KeyboardInterrupt:
        return _say("interrupted.", 128 + signal.SIGINT)
    except BrokenPipeError:
        _discard_output()  # the reader of the pipe has ended
    except QwemError as error:
        return _say(in_options(str(error), known()), INPUT_AT_FAULT)
    except ModuleNotFoundError as error:
        if error.name not in _OF_TRAINING:
            raise
        return _say(
            f"this needs {error.name}, which is not installed: pip install 'qwem[train]'.",
            INPUT_AT_FAULT,
        )
    except MemoryError:
        return _say(
            "memory ran out; use fewer words (--vocab-size), or a machine with more memory.",
            INPUT_AT_FAULT,
        )
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        return _say(
            "no more threads can be started; use fewer --threads, or raise the limits on processes "
            "and memory (ulimit -u, ulimit -v).",
            INPUT_AT_FAULT,
        )
    except OSError as error:
        _discard_output()
        return _say(_explained(error), INPUT_AT_FAULT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def in_options(message: str, known: Collection[str]) -> str:
    """Rewrite settings in backquotes as options of the command line, if they are `known`.

    >>> message = "lower `vocab_size`, or pass `vocab_size=None`; see `Corpus`."
    >>> in_options(message, ["vocab_size"])
    'lower --vocab-size, or pass --vocab-size all; see `Corpus`.'
    """
    from qwem.model import Settings

    settings = Settings.options()

    def write(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if name not in known:
            return found[0]
        flag = name.replace("_", "-")
        if value in ("True", "False"):
            return f"--{flag}" if value == "True" else f"--no-{flag}"
        if value == "None" and name in settings:
            value = settings[name].write(None)
        return f"--{flag} {value}".replace("'", "") if value else f"--{flag}"

    return re.sub(r"`(?P<name>\w+)(=(?P<value>[^`]+))?`", write, message)


def _signals() -> list[int]:
    """Return the signals to treat as Ctrl-C, if this system and thread can handle them.

    A signal that is ignored, as SIGHUP is after nohup, stays ignored.
    """
    import threading

    if threading.current_thread() is not threading.main_thread():
        return []
    known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def _explained(error: OSError) -> str:
    """Return what the system refused, where, and what to do."""
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{where}{error.strerror or error}{f'; {remedy}' if remedy else ''}."


def _discard_output() -> None:
    """Keep Python from reporting at exit that output could not be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str, status: int) -> int:
    end_heartbeat()
    sys.stderr.write(printable(f"qwem: {sentence}\n", sys.stderr.encoding))
    return status
