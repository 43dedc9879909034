"""Permutation tests: how often a random split of words is as extreme as the one at hand.

The words of two groups are exchangeable under the null hypothesis. Every split into groups of the
same sizes is then equally likely, the observed one included.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.settings import require_choice, require_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

Alternative = Literal["greater", "less", "two-sided"]

EXACT_WORDS = 40
"""Up to this many words, sums over all splits are counted exactly: 2²⁰ subsets of either half."""

MOST_DRAWS = 1_000_000
EXACT_SPLITS = 20_000
"""Up to this many splits, a statistic that is not a sum is computed for each."""

# Splits whose statistics differ by less than this part of its spread are ties.
_ROUNDING = 1e-9


class PValue(NamedTuple):
    """A p-value, and whether all splits were counted or random ones."""

    value: float
    exact: bool
    splits: int
    """How many splits were compared, the observed one included."""


def check_test(alternative: str, draws: int, seed: int) -> None:
    """Raise `SettingError` for settings of a test that make no sense."""
    require_choice("alternative", alternative, ("greater", "less", "two-sided"))
    require_whole("draws", draws, least=1, most=MOST_DRAWS)
    require_whole("seed", seed, least=0)


def p_value_of_sum(
    scores: Array, size: int, alternative: Alternative, *, draws: int, seed: int
) -> PValue:
    """Return the p-value of the sum of the first `size` scores among all splits of the scores.

    Of up to `EXACT_WORDS` scores all splits are counted, without forming each: every subset of one
    half is matched with a sorted list of those of the other (Horowitz and Sahni 1974). Of more
    scores, `draws` random splits are compared, and the observed one with them.

    >>> p_value_of_sum(np.array([3.0, 2.0, 1.0, 0.0]), 2, "greater", draws=99, seed=0)
    PValue(value=0.16666666666666666, exact=True, splits=6)
    """
    centred = scores - scores.mean()
    observed = float(centred[:size].sum())
    slack = _ROUNDING * (float(np.abs(centred).sum()) or 1.0)
    if len(scores) <= EXACT_WORDS:
        splits = comb(len(scores), size)
        above = count_sums_at_least(centred, size, observed - slack)
        if alternative == "greater":
            return PValue(above / splits, True, splits)
        below = count_sums_at_least(-centred, size, -observed - slack)
        if alternative == "less":
            return PValue(below / splits, True, splits)
        away = abs(observed) - slack
        if away <= 0:
            return PValue(1.0, True, splits)
        extreme = sum(count_sums_at_least(sign * centred, size, away) for sign in (1, -1))
        return PValue(extreme / splits, True, splits)
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(centred, (draws, 1)), axis=1)[:, :size].sum(axis=1)
    return PValue(_share(observed, drawn, alternative, slack), False, draws + 1)


def p_value_of_splits(
    observed: float, drawn: Array, alternative: Alternative, exact: bool
) -> PValue:
    """Return the p-value of a statistic, given its values for the splits of `splits_of`.

    The observed split is one of all splits, and not one of the random ones, to which it is added.
    """
    slack = _ROUNDING * (float(np.abs(drawn).max()) or 1.0)
    if exact:
        share = float(np.mean(_extreme(observed, drawn, alternative, slack)))
        return PValue(share, True, len(drawn))
    return PValue(_share(observed, drawn, alternative, slack), False, len(drawn) + 1)


def splits_of(count: int, size: int, *, draws: int, seed: int) -> tuple[NDArray[np.bool_], bool]:
    """Return which words are in the first group, one row per split, and whether these are all.

    >>> splits_of(3, 1, draws=99, seed=0)[0].astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    exact = comb(count, size) <= EXACT_SPLITS
    if exact:
        chosen = np.array(list(combinations(range(count), size)))
    else:
        rng = np.random.default_rng(seed)
        chosen = rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)[:, :size]
    inside = np.zeros((len(chosen), count), dtype=bool)
    np.put_along_axis(inside, chosen, True, axis=1)
    return inside, exact


def count_sums_at_least(scores: Array, size: int, threshold: float) -> int:
    """Return how many subsets of `size` scores have a sum of at least `threshold`.

    >>> count_sums_at_least(np.array([3.0, 2.0, 1.0]), 2, 4.0)
    2
    """
    middle = len(scores) // 2
    right = dict(_subset_sums(scores[middle:]))
    count = 0
    for taken, sums in _subset_sums(scores[:middle]):
        others = right.get(size - taken)
        if others is not None:
            below = np.searchsorted(others, threshold - sums, side="left")
            count += int((len(others) - below).sum())
    return count


def _subset_sums(scores: Array) -> Iterator[tuple[int, Array]]:
    """Yield for each size the sorted sums of all subsets of this size."""
    sums, sizes = np.zeros(1), np.zeros(1, dtype=np.int8)
    for score in scores:
        sums, sizes = np.concatenate([sums, sums + score]), np.concatenate([sizes, sizes + 1])
    for size in range(len(scores) + 1):
        yield size, np.sort(sums[sizes == size])


def _share(observed: float, drawn: Array, alternative: Alternative, slack: float) -> float:
    extreme = int(np.count_nonzero(_extreme(observed, drawn, alternative, slack)))
    return (1 + extreme) / (1 + len(drawn))


def _extreme(
    observed: float, drawn: Array, alternative: Alternative, slack: float
) -> NDArray[np.bool_]:
    if alternative == "greater":
        return drawn >= observed - slack
    if alternative == "less":
        return drawn <= observed + slack
    return np.abs(drawn) >= abs(observed) - slack
