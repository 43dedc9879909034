"""Commands and their options: declaration, options made from settings, parsing, completion."""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import shutil
import sys
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from qwem._internal import settings
from qwem._internal.resources import MOST_THREADS
from qwem._internal.settings import Number, Switch, Text, Whole
from qwem.model import Settings
from qwem.model.settings import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from qwem._internal.settings import BaseSettings, Stage

    Run: TypeAlias = Callable[[argparse.Namespace], None]


_CHOICE = re.compile(r"argument (?P<name>\S+): invalid choice: '(?P<value>.*)' \(choose from .*\)")


class Parser(argparse.ArgumentParser):
    """Parser that suggests the right option for a wrong one."""

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
        """Parse arguments, and refuse unknown ones at once."""
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
        """Return the option that another program calls so, or the one nearest in spelling."""
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
    """Return a script that completes the commands of `parser`; zsh uses the one of bash."""
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
    """Return the names of all options of all subcommands, in the spelling of settings."""
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


STAGES = {
    "read": "reading",
    "count": "counting",
    "target": "target",
    "factorize": "factorization",
    "polish": "polish",
}
"""The titles of stages in the help."""


class Option(NamedTuple):
    """Option or argument of a command.

    Most have no default here, but in the function that they are passed to.
    """

    takes: Callable[[str], Any] | settings.Values | type[bool]
    """The function that converts the value, the allowed values, or `bool` for a switch."""
    help: str
    metavar: str | tuple[str, ...] | None = None
    several: bool = False
    """Whether there may be more than one value."""
    flags: tuple[str, ...] = ()
    """By default the name with two dashes; for a positional argument, its metavar."""
    nargs: str | int | None = None
    required: bool = False
    default: Any = None


class Command(NamedTuple):
    """A command: its function and its options."""

    run: Run
    options: Mapping[str, Option]
    groups: Mapping[str, Mapping[str, Option]]
    """More options, by the title of their group."""

    def documentation(self) -> tuple[str, str, str]:
        """Return the summary, the paragraphs and the examples of the function's docstring."""
        *text, examples = inspect.cleandoc(self.run.__doc__ or "").split("\n\n")
        width = shutil.get_terminal_size().columns - 2
        summary = text[0].replace("\n", " ").rstrip(".")
        lines = textwrap.indent(textwrap.dedent(examples), "  ")
        return (
            summary,
            "\n\n".join(textwrap.fill(each, width) for each in text),
            f"examples:\n{lines}",
        )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare all options."""
        add_options(parser, self.options)
        for title, options in self.groups.items():
            add_options(parser.add_argument_group(title), options)


def command(
    *groups: Stage | tuple[str, Mapping[str, Option]], **options: Option
) -> Callable[[Run], Command]:
    """Make a command from a function, with these options.

    A group of options is the name of a stage, for its settings, or a title with options.
    """
    titled = dict(
        (STAGES[group], setting_options(group)) if isinstance(group, str) else group
        for group in groups
    )
    if any(isinstance(group, str) for group in groups):
        options |= {"preset": PRESET, **setting_options(""), "threads": THREADS}
    return lambda run: Command(run, options, titled)


def short_usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage line of a command: its arguments and required options."""
    several = {"*": "[{0} …]", "+": "{0} …"}
    needed = [
        several.get(str(action.nargs), "{0}").format(action.metavar)
        for action in parser._actions
        if not action.option_strings
    ]
    for action in parser._actions:
        if action.option_strings and action.required:
            names = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
            needed.append(" ".join([action.option_strings[0], *map(str, names)]))
    return " ".join([parser.prog, *needed, "[options]"])


def argument(metavar: str, about: str, nargs: str | None = None) -> Option:
    """Return a positional argument."""
    return Option(str, about, metavar, flags=(metavar,), nargs=nargs)


def add_options(group: argparse._ActionsContainer, options: Mapping[str, Option]) -> None:
    """Add options to a parser or to one of its groups."""
    for name, option in options.items():
        more: dict[str, Any] = {"help": option.help.replace("%", "%%"), "default": option.default}
        if option.takes is bool or isinstance(option.takes, Switch):
            more["action"] = argparse.BooleanOptionalAction
        elif isinstance(option.takes, tuple):
            more["choices"] = option.takes
        else:
            more |= {"type": _reader(option.takes), "metavar": option.metavar}
        if option.several:
            more |= {"nargs": "+", "action": "extend"}
        if option.nargs is not None:
            more["nargs"] = option.nargs
        if option.flags and not option.flags[0].startswith("-"):
            group.add_argument(name, **more)
            continue
        if option.required:
            more["required"] = True
        flags = option.flags or ("--" + name.replace("_", "-"),)
        group.add_argument(*flags, dest=name, **more)


def _reader(takes: Any) -> Callable[[str], Any]:
    """Return a function that converts a value; its error says which values are allowed."""
    if isinstance(takes, Whole | Number | Text):
        takes = settings.Option(help="", takes=takes).read
    if isinstance(takes, type):
        return takes

    def read(text: str) -> Any:
        try:
            return takes(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def passed(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return those of the named options that were given on the command line."""
    known = Settings.options()
    may_be_none = {name for name in known if None in known[name].words.values()}
    return {
        name: value
        for name in names
        if name in options
        and ((value := getattr(options, name)) is not None or name in may_be_none)
    }


def passed_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    return passed(options, Settings.options())


def setting_options(
    *stages: Stage,
    of: type[BaseSettings] = Settings,
    names: Iterable[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> dict[str, Option]:
    """Return the settings of some stages, or with some names, as options.

    The help shows the default, unless `defaults` has another, and the paper's value.
    """
    values = {each.name: each.default for each in fields(of)} | dict(defaults or {})
    made = {}
    for name, about in of.options(*stages).items():
        if names is not None and name not in names:
            continue
        said = about.means or about.write(values[name])
        if about.auto and values[name] == "auto":
            said = about.auto.meaning
        if name in PRESETS["paper"] and of is Settings and not defaults:
            said += f"; the paper: {about.write(PRESETS['paper'][name])}"
        text = about.help.partition(". ")[0].rstrip(".").replace("`", "")
        takes: Any = about.takes if isinstance(about.takes, tuple | Switch) else about.read
        if isinstance(takes, tuple):
            takes += tuple(about.words)
        default = argparse.SUPPRESS if of is Settings else None
        made[name] = Option(takes, f"{text} (default: {said})", about.metavar, default=default)
    return made


def word_list(text: str) -> list[str]:
    """Return the words of ``a,b,c``, or of the file that ``@FILE`` names, one per line."""
    if text.startswith("@"):
        try:
            words = Path(text[1:]).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"can't read {text[1:]}: {error}") from error
    else:
        words = text.split(",")
    found = [word.strip() for word in words if word.strip()]
    if not found:
        raise ValueError(f"takes words separated by commas, not {text!r}")
    return found


def topn(what: str, default: int | None = 10) -> Option:
    """Return the option -n, the number of words to list."""
    return Option(
        Whole(1), f"number of {what} (default: {default or '10; 5 for analogies'})", "N",
        flags=("-n", "--topn"), default=default,
    )  # fmt: skip


MODEL = argument("MODEL", "a fitted model, or a file or folder of word vectors")
INPUTS = argument("INPUT", "text (- is standard input), one encoded corpus, or saved counts", "+")
DIM = Option(Whole(1), "use only the first D dimensions of a model", "D")
PRESET = Option(
    tuple(PRESETS),
    "start from the practical settings (default), from those with spelling too (best), or from the "
    "paper's; other options change them",
)
THREADS = Option(Whole(1, MOST_THREADS), "number of threads (default: all cores)", "N")
METHODS = Option(bool, "add a paragraph on methods for a paper, with references (default: no)")
GROUPS = Option(
    str,
    "documents with the same value in this column, such as author, depend on each other and stay "
    "together",
    "COLUMN",
)
CLUSTER = {
    "cluster": Option(
        str, "work on the Dask cluster at this address, such as tcp://host:8786", "ADDRESS"
    ),
    "local_cluster": Option(Whole(1, 1_000), "work in N processes on this machine", "N"),
}
REPEATS = Whole(0, 1_000_000)
"""Allowed numbers of random draws and permutations."""


def output(metavar: str, about: str = "directory to write", **more: Any) -> Option:
    """Return the option -o."""
    return Option(
        str, about, metavar, flags=("-o", "--output"), **{"required": True, **more}
    )  # fmt: skip


def figure(what: str) -> Option:
    """Return the option --figure."""
    return Option(str, f"draw {what} to this file: .png, .pdf or .svg", "FILE")
