"""Options that several subcommands share; their defaults are those of `qwem.model.Settings`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from qwem.errors import SettingError
from qwem.model import PRESETS

if TYPE_CHECKING:
    import argparse

_UNSET: dict[str, Any] = {"default": None}


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides how text is read."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--vocab-size", type=_vocab_size, metavar="N", **_UNSET,
        help="keep the N most frequent words, or 'all' (default: 10000, or all if fewer)",
    )  # fmt: skip
    group.add_argument(
        "--min-count", type=int, metavar="N", **_UNSET,
        help="keep words that occur at least N times",
    )  # fmt: skip
    group.add_argument(
        "--min-tokens", type=int, metavar="N", **_UNSET,
        help="leave out documents of fewer than N words (the paper: 500)",
    )  # fmt: skip
    group.add_argument(
        "--tokenizer", **_UNSET, metavar="NAME",
        help="letters (default), ascii, or regex:PATTERN",
    )  # fmt: skip
    group.add_argument(
        "--documents", choices=("line", "file"), **_UNSET,
        help="whether each line of plain text is a document, or each file",
    )  # fmt: skip
    group.add_argument(
        "--text-column", metavar="NAME", **_UNSET, help="the text in JSON and Parquet files"
    )
    group.add_argument(
        "--oov", choices=("drop", "mask"), **_UNSET,
        help="drop other words, or keep their places as gaps",
    )  # fmt: skip
    group.add_argument(
        "--errors", choices=("strict", "replace"), **_UNSET,
        help="what to do with invalid UTF-8",
    )  # fmt: skip


def add_count_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides how pairs are counted."""
    group = parser.add_argument_group("counting")
    group.add_argument(
        "--window", type=int, metavar="L", **_UNSET, help="words to either side (default: 16)"
    )
    group.add_argument(
        "--weights", type=_weights, metavar="W", **_UNSET,
        help="dynamic (L … 1, the default), flat, or numbers by distance: 3,2,1",
    )  # fmt: skip
    group.add_argument(
        "--subsample", type=float, metavar="T", **_UNSET,
        help="thin out words more frequent than T, such as 1e-3, before windowing",
    )  # fmt: skip
    group.add_argument("--draws", type=int, metavar="K", **_UNSET, help="add up K subsamples")
    group.add_argument("--seed", type=int, metavar="N", **_UNSET, help="for all that is random")


def add_preset_option(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a named set of settings."""
    parser.add_argument(
        "--preset", choices=tuple(PRESETS),
        help="a named set of settings, which the other options change",
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
    """Return what the inputs are: one encoded corpus, one set of counts, or files of text."""
    from pathlib import Path

    from qwem._internal.artefact import kind_of
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus

    kind = kind_of(inputs[0]) if len(inputs) == 1 else None
    if kind == "corpus":
        return Corpus.load(inputs[0])
    if kind == "cooccurrence":
        return Cooccurrence.load(inputs[0])
    return [Path(item) for item in inputs]


def _vocab_size(text: str) -> int | str:
    return text if text == "all" else int(text)


def _weights(text: str) -> str | list[int]:
    return text if text.isalpha() else [int(weight) for weight in text.split(",")]
