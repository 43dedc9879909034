"""What a recipe hands over: a figure, and in words and numbers what it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from qwem.recipes.paper.experiment import Experiment


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one recipe found in this run."""

    figure: Figure
    findings: tuple[str, ...]
    """Sentences with numbers computed from the results."""
    numbers: dict[str, Any]
    """The same numbers, for machines."""
    settings: dict[str, Any]
    """What it depends on beyond the scale: V, d, σ, steps…"""
    table: tuple[tuple[str, ...], ...] = field(default=())
    """Rows of a table, its header first."""


@dataclass(frozen=True)
class Recipe:
    """One figure or table of the paper: what the paper found, and how to find it here."""

    title: str
    claim: str
    """What the paper found."""
    make: Callable[[Experiment], Outcome]
