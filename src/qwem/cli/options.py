"""Options of the command line: their declaration, and those that several commands share."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from qwem._internal import settings
from qwem.model import PRESETS, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from qwem._internal.settings import Stage


class Option(NamedTuple):
    """Option of a command. It has no default: the function that it is passed to has one.

    Parameters
    ----------
    takes
        What converts the value, the choices there are, or `bool` for a switch.
    help
        What it does, in a few words, and its default.
    metavar
        What the value is called in the help.
    several
        Whether there may be more than one value.
    """

    takes: Callable[[str], Any] | tuple[str, ...]
    help: str
    metavar: str | None = None
    several: bool = False


def add_options(
    parser: argparse.ArgumentParser, options: Mapping[str, Option], title: str | None = None
) -> argparse._ActionsContainer:
    """Add options, by the names of their settings, and return the group that has this title."""
    group = parser if title is None else parser.add_argument_group(title)
    for name, option in options.items():
        more: dict[str, Any] = {"help": option.help}
        if name in Settings.options():
            more["default"] = argparse.SUPPRESS
        if option.takes is bool:
            more["action"] = argparse.BooleanOptionalAction
        elif isinstance(option.takes, tuple):
            more["choices"] = option.takes
        else:
            more |= {"type": option.takes, "metavar": option.metavar}
        if option.several:
            more |= {"nargs": "+", "action": "extend"}
        group.add_argument("--" + name.replace("_", "-"), **more)
    return group


def add_settings(parser: argparse.ArgumentParser, *titles: str) -> None:
    """Add the settings of these stages of a fit, and how to run it."""
    add_options(parser, RUNNING)
    for title in titles:
        add_options(parser, STAGES[title], title)


def given(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that were given on the command line, and no others."""
    known = Settings.options()  # None may be given
    return {
        name: value
        for name in names
        if name in options and ((value := getattr(options, name)) is not None or name in known)
    }


def whole(text: str) -> int:
    """Return a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes a whole number, not {text!r}") from None


def number(text: str) -> float:
    """Return a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes a number, not {text!r}") from None


def _from_settings(*stages: Stage) -> dict[str, Option]:
    """Return the settings of some stages of a fit as options."""
    return {
        name: Option(_takes(setting), help_of(name, setting), setting.metavar)
        for name, setting in Settings.options(*stages).items()
    }


def _takes(setting: settings.Option) -> Callable[[str], Any] | tuple[str, ...]:
    if isinstance(setting.takes, settings.Switch):
        return bool
    if isinstance(setting.takes, tuple):
        return setting.takes

    def read(text: str) -> Any:
        try:
            return setting.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def help_of(name: str, setting: settings.Option) -> str:
    """Return what the command line says about a setting: what it does, and its defaults."""
    default = next(field.default for field in fields(Settings) if field.name == name)
    said = setting.auto.meaning if setting.auto else setting.write(default)
    if name in PRESETS["paper"]:
        said += f"; the paper: {setting.write(PRESETS['paper'][name])}"
    return f"{setting.help.partition('. ')[0].rstrip('.')} (default: {said})".replace("`", "")


READING = _from_settings("read")
COUNTING = _from_settings("count")
TARGET = {name: option for name, option in _from_settings("target").items() if name != "target"}
EMBEDDING = _from_settings("factorize", "target", "polish")
RUNNING = {
    "preset": Option(
        tuple(PRESETS),
        "practical (default), or paper: the paper's model; the other options change it",
    ),
    "seed": _from_settings("")["seed"],
    "threads": Option(whole, "number of threads (default: all cores)", "N"),
}
GROUPING = {
    "group_column": Option(
        str, "keep documents with the same value of this column, such as author, together", "NAME"
    ),
}
KEEPING = {
    "keep_counts": Option(bool, "keep the counts, so that the model can be updated (default: no)"),
}
CLUSTER = {
    "cluster": Option(
        str, "work on the Dask cluster at this address, such as tcp://host:8786", "ADDRESS"
    ),
    "local_cluster": Option(whole, "work in N processes on this machine", "N"),
}
STAGES = {
    "embedding": EMBEDDING,
    "reading": READING,
    "counting": COUNTING,
    "keeping": KEEPING,
    "cluster": CLUSTER,
}


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line, and no others."""
    return given(options, Settings.options())
