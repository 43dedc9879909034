"""Recipe: one figure or table of the paper, what the paper found in it, and how to make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from qwem.paper.experiment import Experiment


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a recipe found in one reproduction."""

    figure: Figure | None
    """None for a recipe that is only a table."""
    findings: tuple[str, ...]
    """Sentences with numbers that were computed from the results."""
    numbers: dict[str, Any]
    """The same numbers as plain data."""
    settings: dict[str, Any]
    """The settings that matter for this figure: V, d, σ, steps and so on."""
    table: tuple[tuple[str, ...], ...] = ()
    """The rows of a table, its header first."""


@dataclass(frozen=True)
class Recipe:
    """One figure or table of the paper."""

    title: str
    claim: str
    """What the paper found."""
    make: Callable[[Experiment], Outcome]


def recipe(title: str, claim: str) -> Callable[[Callable[[Experiment], Outcome]], Recipe]:
    """Turn a function of an experiment into a `Recipe` with a title and the paper's claim."""

    def named(make: Callable[[Experiment], Outcome]) -> Recipe:
        return Recipe(title, claim, make)

    return named
