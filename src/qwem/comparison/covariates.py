"""Covariates of documents, such as year and party, as the design matrix of a regression."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qwem._internal.results import listed
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

INTERCEPT = "(intercept)"
MOST_LEVELS = 50
"""Text with more different values than this is a category only if `categories` names it."""

# Columns that are further from the others than this, relative to their spread, are independent.
_INDEPENDENT = 1e-8
# Numbers whose spread is smaller, relative to their size, differ by little more than rounding.
_SPREAD = 1e-12
# Squares of numbers in these limits are finite and above 0.
_SMALLEST, _LARGEST = 1e-100, 1e100

_LIKE_NUMBER = re.compile(r"\s*[-+]?\d[\d.,\s]*")
_LIKE_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Design:
    """Design matrix: an intercept, numbers as they are, and a column for each level.

    The first level of a categorical covariate, in order of spelling, has no column: it is the base
    that the others are compared with. An interaction has the products of the columns of its two
    covariates, numbers less their mean.
    """

    names: tuple[str, ...]
    """The columns, such as ``(intercept)``, ``year``, ``party=R`` and ``party=R:year``."""
    matrix: Array
    """One row per observation."""
    levels: dict[str, tuple[Any, ...]]
    """The levels of each covariate, the base first; empty for a number."""
    means: dict[str, float] = field(default_factory=dict)
    """The mean of each number over observations."""
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    """How many observations each level of each categorical covariate has."""
    interactions: tuple[tuple[str, str], ...] = ()

    def row(self, values: Mapping[str, Any]) -> Array:
        """Return the row of an observation with these values.

        A category that is not given has its base level, and a number its mean over observations.
        """
        unknown = [name for name in values if name not in self.levels]
        if unknown:
            raise SettingError(
                f"There is no covariate {unknown[0]!r}; there are {listed(self.levels)}."
            )
        parts = {}
        for name, levels in self.levels.items():
            if not levels:
                parts[name] = np.array([[_number(name, values.get(name, self.means[name]))]])
                continue
            level, known = str(values.get(name, levels[0])), [str(each) for each in levels]
            if level not in known:
                raise SettingError(f"{name} is one of {listed(known)}, not {level!r}.")
            parts[name] = np.array([[float(level == each) for each in known[1:]]])
        return _joined(parts, self.means, self.interactions)[0]


def columns_of(covariates: Any, documents: int) -> dict[str, list[Any]]:
    """Return covariates as lists by name, one value for each document and None where missing."""
    found = {}
    for name in covariates.keys():  # noqa: SIM118
        values = covariates[name]
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise SettingError(
                f"The covariate {name!r} must be a list of values, one per document."
            )
        if len(values) != documents:
            raise SettingError(
                f"The covariate {name!r} has {len(values):,} values, and there are {documents:,} "
                "documents; give one for each, and don't leave out documents by `min_tokens`."
            )
        plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
        found[str(name)] = [None if _is_missing(value) else value for value in plain]
    if not found:
        raise SettingError("covariates has no column; give at least one.")
    return found


def design_of(
    columns: Mapping[str, Sequence[Any]],
    *,
    categories: Sequence[str] = (),
    interactions: Sequence[tuple[str, str]] = (),
) -> Design:
    """Return the matrix of covariates that have no missing values.

    >>> design_of({"year": [1990, 2000, 2010], "party": ["R", "D", "R"]}).matrix.tolist()
    [[1.0, 1990.0, 1.0], [1.0, 2000.0, 0.0], [1.0, 2010.0, 1.0]]
    """
    for name in (*categories, *(each for pair in interactions for each in pair)):
        if name not in columns:
            raise SettingError(f"There is no covariate {name!r}; there are {listed(columns)}.")
    labels: dict[str, list[str]] = {}
    parts: dict[str, Array] = {}
    all_levels: dict[str, tuple[Any, ...]] = {}
    means: dict[str, float] = {}
    sizes: dict[str, dict[str, int]] = {}
    for name, values in columns.items():
        numeric = _are_numbers(name, values) and name not in categories
        if len(set(values)) < 2:
            raise SettingError(
                f"The covariate {name!r} is {values[0]!r} for all {len(values):,} occurrences, so "
                "its effect can't be estimated; leave it out."
            )
        if numeric:
            all_levels[name], labels[name] = (), [name]
            parts[name] = _numbers(name, values)[:, None]
            means[name] = float(parts[name].mean())
        else:
            if name not in categories:
                _require_categories(name, values)
            all_levels[name] = levels = tuple(sorted(set(values)))
            labels[name] = [f"{name}={level}" for level in levels[1:]]
            place = {level: number for number, level in enumerate(levels)}
            numbers = np.array([place[value] for value in values])
            parts[name] = (numbers[:, None] == np.arange(1, len(levels))).astype(np.float64)
            counts = np.bincount(numbers).tolist()
            sizes[name] = dict(zip(map(str, levels), counts, strict=True))
    pairs = tuple((one, other) for one, other in interactions)
    names = [INTERCEPT, *(label for each in labels.values() for label in each)]
    names += [f"{x}:{y}" for a, b in pairs for x in labels[a] for y in labels[b]]
    matrix = _joined(parts, means, pairs)
    _require_independent(tuple(names), matrix)
    return Design(
        names=tuple(names),
        matrix=matrix,
        levels=all_levels,
        means=means,
        sizes=sizes,
        interactions=pairs,
    )


def _joined(
    parts: Mapping[str, Array], means: Mapping[str, float], pairs: Sequence[tuple[str, str]]
) -> Array:
    """Join an intercept, the columns of covariates, and the products of pairs of covariates."""
    count = len(next(iter(parts.values())))
    products = [
        (
            (parts[one] - means.get(one, 0.0))[:, :, None]
            * (parts[other] - means.get(other, 0.0))[:, None, :]
        ).reshape(count, -1)
        for one, other in pairs
    ]
    return np.concatenate([np.ones((count, 1)), *parts.values(), *products], axis=1)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise SettingError(f"{name} is a number, not {value!r}.") from None


def _numbers(name: str, values: Sequence[Any]) -> Array:
    """Return numbers as an array; raise if they are too extreme to compute with."""
    largest, spread = max(map(abs, values)), max(values) - min(values)
    if not (spread > _SMALLEST and largest < _LARGEST and spread > _SPREAD * largest):
        raise SettingError(
            f"The covariate {name!r} has numbers from {min(values)} to {max(values)}, too extreme "
            "to compute with; subtract an offset or use other units."
        )
    return np.asarray(values, dtype=np.float64)


def _require_categories(name: str, values: Sequence[str]) -> None:
    """Raise for text that may be numbers or dates, or has too many different values."""
    levels = sorted(set(values))
    example = f"{len(levels):,} different values, such as {shorten(repr(levels[0]), 60)}"
    if all(_LIKE_DATE.fullmatch(level) for level in levels):
        advice = "make them numbers, for instance the year"
        raise SettingError(f"The covariate {name!r} has dates as text: {example}; {advice}.")
    if all(_LIKE_NUMBER.fullmatch(level) for level in levels):
        advice = "make them numbers, or name it as one of the categories"
        raise SettingError(f"The covariate {name!r} has numbers as text: {example}; {advice}.")
    if len(levels) > MOST_LEVELS:
        advice = "join some of them (of dates, give the year), or name it as one of the categories"
        raise SettingError(f"The covariate {name!r} has {example}; {advice}.")


def _require_independent(names: tuple[str, ...], matrix: Array) -> None:
    """Raise for the first column that is a linear combination of those before it."""
    centred = matrix[:, 1:] - matrix[:, 1:].mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    basis = np.empty((len(matrix), 0))
    for place, column in enumerate(centred.T):
        rest = column / lengths[place] if lengths[place] > 0 else np.zeros_like(column)
        rest = rest - basis @ (basis.T @ rest)
        rest -= basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length < _INDEPENDENT:
            others = f"follows from {listed(names[1 : place + 1])}" if place else "is constant"
            raise SettingError(
                f"The covariate {names[place + 1]} {others}, so its effect can't be told apart; "
                "leave it out."
            )
        basis = np.column_stack([basis, rest / length])


def _are_numbers(name: str, values: Sequence[Any]) -> bool:
    """Return whether all values are numbers; raise where they are neither numbers nor text."""
    kinds = {_kind(name, value) for value in values}
    if len(kinds) > 1:
        raise SettingError(f"The covariate {name!r} has numbers and text; give one kind of value.")
    return kinds == {"number"}


def _kind(name: str, value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | int | float | np.number | np.bool_):
        if abs(value) == math.inf:
            raise SettingError(f"The covariate {name!r} has an infinite value; leave it out.")
        return "number"
    raise SettingError(
        f"The covariate {name!r} has a value of type {type(value).__name__}; give numbers (for a "
        "date for instance its year), or text for categories."
    )


def _is_missing(value: Any) -> bool:
    # pandas' NA and NaT can't be compared.
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and math.isnan(value))
    )
