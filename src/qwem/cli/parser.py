"""Parser of the command line, whose errors are one sentence."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CHOICE = re.compile(r"argument (?P<name>\S+): invalid choice: '(?P<value>.*)' \(choose from .*\)")


class Parser(argparse.ArgumentParser):
    """Parser that answers a wrong option with the one that was probably meant."""

    def error(self, message: str) -> NoReturn:
        """End with one sentence and status 2."""
        choice = _CHOICE.fullmatch(message)
        if choice:
            message = self._wrong_choice(choice["name"], choice["value"])
        else:
            message = re.sub(r"^argument (\S+): ", r"\1 ", message)
        rest = "" if message.endswith("?") else f"; see {self.prog} --help."
        self.exit(2, f"{self.prog}: {message}{rest}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and refuse those that are not known here and now."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return found, unknown

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        option = next((item for item in unknown if item.startswith("-")), None)
        if option is None:
            self.error(f"there is one argument too many, {unknown[0]!r}")
        option = option.partition("=")[0]
        meant = self._option_like(option.lstrip("-").replace("-", "_"))
        self.error(f"there is no option {option}" + (f"; did you mean {meant}?" if meant else ""))

    def _option_like(self, name: str) -> str | None:
        """Return the option that another name stands for, or the one with the nearest spelling."""
        from qwem.model import Settings

        strings = [string for action in self._actions for string in action.option_strings]
        options = {s[2:].replace("-", "_"): s for s in strings if s.startswith("--")}
        setting = Settings.closest_name(name)
        return options.get(setting if setting in options else nearest(name, options) or "")

    def _wrong_choice(self, name: str, value: str) -> str:
        for action in self._actions:
            if name not in (action.metavar, "/".join(action.option_strings)):
                continue
            choices = [str(choice) for choice in action.choices or ()]
            if isinstance(action, argparse._SubParsersAction):
                meant = nearest(value, choices)
                return f"there is no command {value!r}" + (
                    f"; did you mean {meant}?" if meant else ""
                )
            return f"{name} takes {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}"
        return f"{name} does not take {value!r}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the nearest spelling, or None if none is near.

    >>> nearest("evalute", ["fit", "evaluate"])
    'evaluate'
    """
    found = difflib.get_close_matches(name, list(known), n=1)
    return found[0] if found else None
