"""Commands and their options: how they are declared, and the options that are made of settings."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from qwem._internal import settings
from qwem._internal.settings import Number, Switch, Text, Whole
from qwem.model import Settings
from qwem.model.settings import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from qwem._internal.settings import BaseSettings, Stage

    Run: TypeAlias = Callable[[argparse.Namespace], None]

GROUPS = {
    "read": "reading",
    "count": "counting",
    "target": "target",
    "factorize": "factorization",
    "polish": "polish",
}
"""The titles of stages in the help."""


class Option(NamedTuple):
    """Option or argument of a command.

    It has no default, as a rule: the function that it is passed to has one.
    """

    takes: Callable[[str], Any] | settings.Values | type[bool]
    """What converts the value, which values there are, or `bool` for a switch."""
    help: str
    metavar: str | tuple[str, ...] | None = None
    several: bool = False
    """Whether there may be more than one value."""
    flags: tuple[str, ...] = ()
    """By default the name with two dashes; an argument without dashes has its metavar here."""
    nargs: str | int | None = None
    required: bool = False
    default: Any = None


class Command(NamedTuple):
    """Command: what runs it, and its options."""

    run: Run
    options: Mapping[str, Option]
    settings: tuple[tuple[str, Mapping[str, Option]], ...]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options, and the settings in groups that have titles."""
        add_options(parser, self.options)
        for title, options in self.settings:
            add_options(parser, options, title)


def command(*stages: Stage, **options: Option) -> Callable[[Run], Command]:
    """Make a command of a function that has these options, and the settings of these stages."""

    def make(run: Run) -> Command:
        shared = {"preset": PRESET, **setting_options(""), "threads": THREADS} if stages else {}
        groups = tuple((GROUPS[stage], setting_options(stage)) for stage in stages)
        return Command(run, {**options, **shared}, groups)

    return make


def argument(metavar: str, about: str, nargs: str | None = None) -> Option:
    """Return an argument that has no dashes."""
    return Option(str, about, metavar, flags=(metavar,), nargs=nargs)


def add_options(
    parser: argparse.ArgumentParser, options: Mapping[str, Option], title: str | None = None
) -> None:
    """Add options, by the names of their settings, in a group with this title."""
    group = parser if title is None else parser.add_argument_group(title)
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
    """Return what converts a value, and says what it takes if it can't."""
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


def given(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that were given on the command line, and no others."""
    known = Settings.options()
    may_be_none = {name for name in known if None in known[name].words.values()}
    return {
        name: value
        for name in names
        if name in options
        and ((value := getattr(options, name)) is not None or name in may_be_none)
    }


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line, and no others."""
    return given(options, Settings.options())


def setting_options(
    *stages: Stage,
    of: type[BaseSettings] = Settings,
    names: Iterable[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> dict[str, Option]:
    """Return the settings of some stages, or those of these names, as options.

    The help shows the default, or the one of `defaults`, and the paper's.
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


def whole(text: str) -> int:
    """Return a whole number."""
    return int(settings.Option(help="", takes=Whole()).read(text))


def number(text: str) -> float:
    """Return a number."""
    return float(settings.Option(help="", takes=Number()).read(text))


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
        Whole(1), f"number of {what} (default: {default or '10, of analogies 5'})", "N",
        flags=("-n", "--topn"), default=default,
    )  # fmt: skip


MODEL = argument("MODEL", "a fitted model, or a file of word vectors")
INPUTS = argument("INPUT", "text (- is standard input), one encoded corpus, or saved counts", "+")
DIM = Option(Whole(1), "use only the first D dimensions of a model", "D")
PRESET = Option(
    tuple(PRESETS), "practical (default), or paper: the paper's model; the other options change it"
)
THREADS = Option(whole, "number of threads (default: all cores)", "N")
METHODS = Option(bool, "add a paragraph on methods for a paper, with references (default: no)")
GROUP_COLUMN = Option(
    str, "keep documents with the same value of this column, such as author, together", "NAME"
)
CLUSTER = {
    "cluster": Option(
        str, "work on the Dask cluster at this address, such as tcp://host:8786", "ADDRESS"
    ),
    "local_cluster": Option(whole, "work in N processes on this machine", "N"),
}
REPEATS = Whole(0, 1_000_000)
"""Numbers of random draws, permutations and replicates that can be waited for."""


def output(metavar: str, about: str = "directory to write", **more: Any) -> Option:
    """Return the option -o."""
    return Option(
        str, about, metavar, flags=("-o", "--output"), **{"required": True, **more}
    )  # fmt: skip


def figure(what: str) -> Option:
    """Return the option --figure."""
    return Option(str, f"draw {what} to a file: PNG, PDF or SVG, by its name", "FILE")
