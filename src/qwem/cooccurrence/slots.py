"""Slots: which neighbours of a word are one context, and what a pair counts for by its distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qwem._internal.settings import require_whole
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WINDOW = 10_000
MAX_WEIGHT = 2**63 - 1

LAYOUTS = ("adjacent", "sides", "near-far", "symmetric")


@dataclass(frozen=True)
class Slot:
    """A set of distances at which pairs are counted together.

    A directed slot gives each word two contexts, its neighbours on the left and those on the right.
    A symmetric one gives it a single context.

    >>> Slot((2, 1)).contexts, Slot((2, 1), directed=False).contexts
    (2, 1)
    """

    weights: tuple[int, ...] | None
    """What a pair counts for at distance 1, 2, …; 0 where the slot does not have that distance,
    None where the distances are unknown."""
    directed: bool = True

    def __str__(self) -> str:
        kind = "ordered" if self.directed else "unordered"
        return f"{kind} pairs with weights {self.weights}"

    @property
    def contexts(self) -> int:
        """How many contexts a word has in this slot."""
        return 2 if self.directed else 1


def window_weights(window: int, weights: str | Sequence[int] = "dynamic") -> tuple[int, ...]:
    """Return the weight of a pair at each distance from 1 to `window`.

    >>> window_weights(3), window_weights(3, "flat"), window_weights(2, [5, 1])
    ((3, 2, 1), (1, 1, 1), (5, 1))
    """
    require_whole("window", window, least=1, most=MAX_WINDOW)
    if isinstance(weights, str):
        if weights == "dynamic":
            return tuple(range(window, 0, -1))
        if weights == "flat":
            return (1,) * window
        raise SettingError(
            f"`weights` must be 'dynamic', 'flat' or a weight for each distance, not {weights!r}."
        )
    if len(weights) != window:
        raise SettingError(f"A window of {window} needs {window} weights, not {len(weights)}.")
    return checked_weights(weights)


def checked_weights(weights: Sequence[int]) -> tuple[int, ...]:
    """Return the weights of pairs by distance, which must be whole numbers."""
    if not all(0 <= weight <= MAX_WEIGHT and weight == int(weight) for weight in weights):
        raise SettingError(
            f"`weights` must be whole numbers from 0 to {MAX_WEIGHT:,}, not {list(weights)}."
        )
    return tuple(map(int, weights))


def window_slots(
    window: int,
    weights: str | Sequence[int] = "dynamic",
    layout: str | Sequence[Slot | Sequence[int]] = "sides",
) -> tuple[Slot, ...]:
    """Return the slots that a window is divided into.

    Parameters
    ----------
    window, weights
        The window, as `window_weights` takes it.
    layout
        ``"symmetric"``, one slot that does not tell left from right; ``"sides"``, one directed
        slot; ``"near-far"``, a directed slot of adjacent words and one of all others;
        ``"adjacent"``, a directed slot of adjacent words and a symmetric one of all others; or
        slots of your own (then `window` and `weights` are not used), each a `Slot`, or the weights
        by distance of a directed one.

    >>> window_slots(3, layout="near-far")
    (Slot(weights=(3,), directed=True), Slot(weights=(0, 2, 1), directed=True))
    """
    if not isinstance(layout, str):
        slots = tuple(each if isinstance(each, Slot) else Slot(tuple(each)) for each in layout)
        if not slots or not all(slot.weights for slot in slots):
            raise SettingError("`slots` needs at least one slot, each with a weight by distance.")
        return tuple(_checked(slot) for slot in slots)
    by_distance = window_weights(window, weights)
    if layout in ("near-far", "adjacent") and window > 1:
        return Slot(by_distance[:1]), Slot((0, *by_distance[1:]), directed=layout == "near-far")
    if layout not in LAYOUTS:
        raise SettingError(
            f"`slots` must be one of {', '.join(map(repr, LAYOUTS))} or a list of slots, not "
            f"{layout!r}."
        )
    return (Slot(by_distance, directed=layout != "symmetric"),)


def sum_of_weights(slots: Sequence[Slot]) -> tuple[int, ...] | None:
    """Return what a pair counts for in all slots together, by distance; None where unknown."""
    known: list[tuple[int, ...]] = [slot.weights for slot in slots if slot.weights is not None]
    if len(known) < len(slots):
        return None
    longest = max(map(len, known), default=0)
    padded = [weights + (0,) * (longest - len(weights)) for weights in known]
    return tuple(map(sum, zip(*padded, strict=True)))


def slots_as_json(slots: Sequence[Slot]) -> list[dict[str, Any]]:
    """Return slots as they are written to a file."""
    return [{"weights": slot.weights, "directed": slot.directed} for slot in slots]


def slots_from_json(found: Sequence[dict[str, Any]]) -> tuple[Slot, ...]:
    """Return slots that were written by `slots_as_json`."""
    return tuple(
        Slot(
            None if each["weights"] is None else checked_weights(each["weights"]), each["directed"]
        )
        for each in found
    )


def _checked(slot: Slot) -> Slot:
    assert slot.weights is not None
    require_whole("window", len(slot.weights), least=1, most=MAX_WINDOW)
    return Slot(checked_weights(slot.weights), bool(slot.directed))
