"""Covariates: what is known about each document, as the matrix of a regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qwem._internal.results import listed
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

INTERCEPT = "(intercept)"

# Columns that are further from the others than this, relative to their spread, are independent.
_INDEPENDENT = 1e-8


@dataclass(frozen=True, eq=False)
class Design:
    """Matrix of a regression: an intercept, numbers as they are, and a column for each level.

    The first level of a categorical covariate, in order of spelling, has no column: it is the base
    that the others are compared with.
    """

    names: tuple[str, ...]
    """The columns, such as ``(intercept)``, ``year`` and ``party=R``."""
    matrix: Array
    """One row per observation."""
    levels: dict[str, tuple[str, ...]]
    """The levels of each categorical covariate, the base first, and none for a number."""

    def row(self, values: Mapping[str, Any]) -> Array:
        """Return the row of an observation with these values, and elsewhere the base or the mean.

        A number that is not given has its mean over observations.
        """
        unknown = [name for name in values if name not in self.levels]
        if unknown:
            raise SettingError(
                f"There is no covariate {unknown[0]!r}; there are {listed(self.levels)}."
            )
        row = self.matrix.mean(axis=0)
        place = 1
        for name, levels in self.levels.items():
            if not levels:
                row[place] = values.get(name, row[place])
                place += 1
                continue
            level = values.get(name, levels[0])
            if level not in levels:
                raise SettingError(f"{name} is one of {listed(levels)}, not {level!r}.")
            row[place : place + len(levels) - 1] = [level == each for each in levels[1:]]
            place += len(levels) - 1
        return row


def columns_of(covariates: Any, documents: int) -> dict[str, list[Any]]:
    """Return covariates as lists by name, one value for each document and None where missing."""
    if not hasattr(covariates, "keys"):
        raise SettingError(
            "covariates must be a mapping from names to one value for each document, or a data "
            f"frame, not {type(covariates).__name__}."
        )
    found = {str(name): column_of(name, covariates[name], documents) for name in covariates.keys()}  # noqa: SIM118
    if not found:
        raise SettingError("covariates has no column; give at least one.")
    return found


def column_of(name: object, values: Any, documents: int) -> list[Any]:
    """Return the values of one covariate, None where missing."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise SettingError(f"The covariate {name!r} must be a list of values, one per document.")
    if len(values) != documents:
        raise SettingError(
            f"The covariate {name!r} has {len(values):,} values, and there are {documents:,} "
            "documents; give one for each, and don't leave out documents by `min_tokens`."
        )
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [None if _is_missing(value) else value for value in plain]


def design_of(columns: Mapping[str, Sequence[Any]]) -> Design:
    """Return the matrix of covariates that have no missing values.

    >>> design_of({"year": [1990, 2000, 2010], "party": ["R", "D", "R"]}).matrix.tolist()
    [[1.0, 1990.0, 1.0], [1.0, 2000.0, 0.0], [1.0, 2010.0, 1.0]]
    """
    names, parts = [INTERCEPT], []
    all_levels: dict[str, tuple[str, ...]] = {}
    for name, values in columns.items():
        kinds = {_kind(name, value) for value in values}
        if len(kinds) > 1:
            raise SettingError(
                f"The covariate {name!r} has numbers and text; give one kind of value."
            )
        if len(set(values)) < 2:
            raise SettingError(
                f"The covariate {name!r} is {values[0]!r} for all {len(values):,} occurrences, so "
                "nothing can be said about it; leave it out."
            )
        if kinds == {"number"}:
            all_levels[name] = ()
            names.append(name)
            parts.append(np.asarray(values, dtype=np.float64)[:, None])
        else:
            all_levels[name] = levels = tuple(sorted(set(values)))
            names += [f"{name}={level}" for level in levels[1:]]
            numbers = np.array([levels.index(value) for value in values])
            parts.append((numbers[:, None] == np.arange(1, len(levels))).astype(np.float64))
    matrix = np.concatenate([np.ones((len(parts[0]), 1)), *parts], axis=1)
    _require_independent(tuple(names), matrix)
    return Design(tuple(names), matrix, all_levels)


def _require_independent(names: tuple[str, ...], matrix: Array) -> None:
    """Raise for the first column that follows from those before it."""
    centred = matrix[:, 1:] - matrix[:, 1:].mean(axis=0)
    centred /= np.linalg.norm(centred, axis=0)
    basis = np.empty((len(matrix), 0))
    for place, column in enumerate(centred.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length < _INDEPENDENT:
            raise SettingError(
                f"The covariate {names[place + 1]} follows from {listed(names[1 : place + 1])}, so "
                "their effects can't be told apart; leave it out."
            )
        basis = np.column_stack([basis, rest / length])


def _kind(name: str, value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | int | float | np.number | np.bool_):
        if not math.isfinite(value):
            raise SettingError(f"The covariate {name!r} has an infinite value; leave it out.")
        return "number"
    raise SettingError(
        f"The covariate {name!r} has a value of type {type(value).__name__}; give numbers, or text "
        "for categories."
    )


def _is_missing(value: Any) -> bool:
    # pandas' NA and NaT can't be compared.
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and math.isnan(value))
    )
