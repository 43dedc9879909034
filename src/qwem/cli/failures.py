"""How a command ends: one sentence in the language of the command line, and an exit status."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import TYPE_CHECKING

from qwem.errors import QwemError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

INPUT_AT_FAULT = 2
_SIGNALS = ("SIGTERM", "SIGHUP")


class Stopped(KeyboardInterrupt):
    """The end of a process that was told to stop by a signal other than Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_command(command: Callable[[], None]) -> int:
    """Run a command and return its exit status: 0, 2 for bad input, or 128 plus a signal."""
    before = {name: signal.signal(getattr(signal, name), _stop) for name in _names_of_signals()}
    try:
        command()
    except Stopped as stopped:
        return _say("stopped by a signal.", 128 + stopped.number)
    except KeyboardInterrupt:
        return _say("interrupted.", 128 + signal.SIGINT)
    except BrokenPipeError:
        # Whoever read our output has gone; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except QwemError as error:
        return _say(in_options(str(error)), INPUT_AT_FAULT)
    except MemoryError:
        return _say(
            "memory ran out; use fewer words (--vocab-size), or a machine with more memory.",
            INPUT_AT_FAULT,
        )
    except OSError as error:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return _say(f"{where}{error.strerror or error}.", INPUT_AT_FAULT)
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
    return 0


def in_options(message: str) -> str:
    """Return an error message with settings written as options.

    >>> in_options("lower vocab_size, or pass vocab_size=None; pass errors='replace'.")
    'lower --vocab-size, or pass --vocab-size all; pass --errors replace.'
    """
    from dataclasses import fields

    from qwem.model import Settings

    # Only names that can't be mistaken for words of the sentence: with a value or an underscore.
    for name in (field.name for field in fields(Settings)):
        option = "--" + name.replace("_", "-")
        message = re.sub(rf"\b{name}=False\b", option.replace("--", "--no-"), message)
        message = re.sub(rf"\b{name}=True\b", option, message)
        message = re.sub(rf"\b{name}=None\b", f"{option} all", message)
        message = re.sub(rf"\b{name}='?([\w.-]*\w)'?", rf"{option} \1", message)
        if "_" in name:
            message = re.sub(rf"(?<![\w'/.-]){name}\b(?!['/.]\w)", option, message)
    return message


def _names_of_signals() -> list[str]:
    """Return the signals to treat as Ctrl-C, as far as this system and thread can."""
    import threading

    if threading.current_thread() is not threading.main_thread():
        return []
    return [name for name in _SIGNALS if hasattr(signal, name)]


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def _say(sentence: str, status: int) -> int:
    sys.stderr.write(f"qwem: {sentence}\n")
    return status
