"""Options of the command line: their declaration, and those that several commands share."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from qwem.errors import SettingError
from qwem.model import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


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
    values = {name: getattr(options, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


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


def vocab_size(text: str) -> int | str:
    """Return a number of words, or "all"."""
    if text != "all" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"takes a number or all, not {text!r}")
    return text if text == "all" else int(text)


def weights(text: str) -> str | list[int]:
    """Return the name of weights, or numbers separated by commas."""
    if text in ("dynamic", "flat"):
        return text
    numbers = text.split(",")
    if not all(number.strip().isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(
            f"takes dynamic, flat, or whole numbers such as 3,2,1, not {text!r}"
        )
    return [int(number) for number in numbers]


# The settings of a fit, by stage. `qwem.Settings` has their defaults.
READING = {
    "vocab_size": Option(
        vocab_size, "keep the N most frequent words (default: all that occur often enough)", "N"
    ),
    "min_count": Option(
        whole, "keep words that occur at least N times (default: 5, fewer for small text)", "N"
    ),
    "min_tokens": Option(
        whole, "leave out documents of fewer than N words (default: 0; the paper: 500)", "N"
    ),
    "tokenizer": Option(str, "letters (default), ascii, or regex:PATTERN", "NAME"),
    "documents": Option(
        ("line", "file"), "what is a document in plain text: each line (default) or each file"
    ),
    "text_column": Option(
        str, "name of the text in JSON and Parquet files (default: text)", "NAME"
    ),
    "oov": Option(("drop", "mask"), "drop other words (default), or keep their places as gaps"),
    "phrases": Option(
        bool, "join up to four words that belong together, such as new_york (default: no)"
    ),
    "errors": Option(("strict", "replace"), "refuse invalid UTF-8 (default), or replace it"),
}
COUNTING = {
    "window": Option(
        whole, "words to either side (default: 5, up to 10 for short text; the paper: 16)", "L"
    ),
    "weights": Option(
        weights,
        "weights by distance: dynamic (L … 1, the default), flat, or numbers such as 3,2,1",
        "W",
    ),
    "subsample": Option(
        number, "thin out words more frequent than T (default: 1e-3, more for small text)", "T"
    ),
    "draws": Option(whole, "add up K subsamples (default: 1)", "K"),
    "seed": Option(whole, "seed of everything that is random (default: 0)", "N"),
}
TARGET = {
    "negatives": Option(number, "weight of the negative term, word2vec's k (default: 1)", "K"),
    "shrinkage": Option(
        number, "evidence that a pair of words must overcome (default: 10; the paper: 0)", "A"
    ),
    "coupling": Option(
        number,
        "weight word i by P_i^A; below 0 in favour of rare words (default: -0.2; the paper: 0)",
        "A",
    ),
}
EMBEDDING = {
    "dim": Option(whole, "dimensions (default: 200, and less for short text)", "D"),
    "target": Option(("mstar", "ppmi", "pmi"), "matrix to factorize (default: mstar)"),
    **TARGET,
    "signed": Option(bool, "use negative eigenvalues too (default), or only positive ones"),
    "polish": Option(
        bool, "continue with a few steps of word2vec's own loss (default), or keep the closed form"
    ),
    "ngrams": Option(
        bool,
        "let rare words learn from their spelling, and unseen words have vectors (default: no)",
    ),
    "tol": Option(
        number, "largest residual, relative to the largest eigenvalue (default: 0.001)", "T"
    ),
}
RUNNING = {
    "preset": Option(
        tuple(PRESETS),
        "practical (default), or paper: the paper's model; the other options change it",
    ),
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
    found = given(options, {**READING, **COUNTING, **EMBEDDING})
    if found.get("vocab_size") == "all":
        found["vocab_size"] = None
    tokenizer = found.get("tokenizer", "letters")
    if tokenizer.startswith("regex:"):
        try:
            found["tokenizer"] = re.compile(tokenizer.removeprefix("regex:"))
        except re.error as error:
            raise SettingError(f"The tokenizer's pattern is not valid: {error}.") from error
    return found
