"""Parser of the command line, whose errors are one sentence, and completion in shells."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
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


SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_qwem() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    case "$word" in -*) ;; *) [ "$COMP_CWORD" -gt 1 ] && words="" ;; esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _qwem qwem
"""


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return a script that completes the commands of `parser`; zsh reads bash's."""
    commands = _commands(parser)
    if shell == "fish":
        lines = [f"complete -c qwem -n __fish_use_subcommand -xa '{' '.join(commands)}'"]
        lines += [
            f"complete -c qwem -n '__fish_seen_subcommand_from {name}' -l {option[2:]}"
            for name, options in commands.items()
            for option in options
            if option.startswith("--")
        ]
        return "\n".join(lines) + "\n"
    cases = "\n".join(
        f'            {name}) words="{" ".join(options)}" ;;' for name, options in commands.items()
    )
    script = _BASH.format(commands=" ".join(commands), cases=cases)
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if shell == "zsh" else script


def option_names(parser: argparse.ArgumentParser) -> set[str]:
    """Return the names of all options of all subcommands, as settings have them."""
    options = {option for each in _commands(parser).values() for option in each}
    return {option[2:].replace("-", "_") for option in options if option.startswith("--")}


def _commands(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the options of each subcommand."""
    (commands,) = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {
        name: [option for action in command._actions for option in action.option_strings]
        for name, command in commands.choices.items()
    }


class PrintCompletion(argparse.Action):
    """The option ``--completion SHELL``, which prints a script and exits."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Print the script."""
        sys.stdout.write(completion_script(parser, str(values)))
        parser.exit()
