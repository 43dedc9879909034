"""Options that several subcommands share; their defaults are those of `qwem.Settings`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from qwem.errors import SettingError
from qwem.model import PRESETS


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """Add the settings of reading."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--vocab-size", type=vocab_size, metavar="N",
        help="keep the N most frequent words (default: all that occur often enough)",
    )  # fmt: skip
    group.add_argument(
        "--min-count", type=int, metavar="N",
        help="keep words that occur at least N times (default: 5, fewer for small text)",
    )  # fmt: skip
    group.add_argument(
        "--min-tokens", type=int, metavar="N",
        help="leave out documents of fewer than N words (default: 0; the paper: 500)",
    )  # fmt: skip
    group.add_argument(
        "--tokenizer", metavar="NAME",
        help="letters (default), ascii, or regex:PATTERN",
    )  # fmt: skip
    group.add_argument(
        "--documents", choices=("line", "file"),
        help="whether each line of plain text is a document, or each file",
    )  # fmt: skip
    group.add_argument("--text-column", metavar="NAME", help="the text in JSON and Parquet files")
    group.add_argument(
        "--oov", choices=("drop", "mask"),
        help="drop other words, or keep their places as gaps",
    )  # fmt: skip
    group.add_argument(
        "--errors", choices=("strict", "replace"),
        help="what to do with invalid UTF-8",
    )  # fmt: skip


def add_count_options(parser: argparse.ArgumentParser) -> None:
    """Add the settings of counting."""
    group = parser.add_argument_group("counting")
    group.add_argument(
        "--window", type=int, metavar="L", help="words to either side (default: 5; the paper: 16)"
    )
    group.add_argument(
        "--weights", type=weights, metavar="W",
        help="dynamic (L … 1, the default), flat, or numbers by distance: 3,2,1",
    )  # fmt: skip
    group.add_argument(
        "--subsample", type=float, metavar="T",
        help="thin out words more frequent than T (default: 1e-3, more for small text)",
    )  # fmt: skip
    group.add_argument("--draws", type=int, metavar="K", help="add up K subsamples")
    group.add_argument("--seed", type=int, metavar="N", help="for all that is random")


def add_preset_option(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a named set of settings."""
    parser.add_argument(
        "--preset", choices=tuple(PRESETS),
        help="practical (default), or paper: the paper's model; the other options change it",
    )  # fmt: skip


def add_threads_option(parser: argparse.ArgumentParser) -> None:
    """Add the number of threads."""
    parser.add_argument("--threads", type=int, metavar="N", help="default: all cores")


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line, and no others."""
    from dataclasses import fields

    from qwem.model import Settings

    given = {
        field.name: value
        for field in fields(Settings)
        if (value := getattr(options, field.name, None)) is not None
    }
    if given.get("vocab_size") == "all":
        given["vocab_size"] = None
    tokenizer = given.get("tokenizer", "letters")
    if tokenizer.startswith("regex:"):
        try:
            given["tokenizer"] = re.compile(tokenizer.removeprefix("regex:"))
        except re.error as error:
            raise SettingError(f"The tokenizer's pattern is not valid: {error}.") from error
    return given


def source_of(inputs: list[str]) -> Any:
    """Load the inputs: one encoded corpus, one set of counts, or else paths of text."""
    from qwem._internal.artefact import kind_of
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus

    kind = kind_of(inputs[0]) if len(inputs) == 1 else None
    if kind == "corpus":
        return Corpus.load(inputs[0])
    if kind == "cooccurrence":
        return Cooccurrence.load(inputs[0])
    if kind is not None:
        raise SettingError(f"{inputs[0]} holds a {kind}; give text, an encoded corpus or counts.")
    return text_paths(inputs)


def text_paths(inputs: list[str]) -> list[Path]:
    """Return the paths of text; - is standard input."""
    if "" in inputs:
        raise SettingError("One of the inputs is an empty name; give a file or directory.")
    return [Path("/dev/stdin" if item == "-" else item) for item in inputs]


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
