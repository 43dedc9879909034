"""Permutation tests: how often a random assignment is as extreme as the observed one.

Words of two lists are exchangeable under the null hypothesis of an association test, and folds of
several slices under that of a comparison. Every assignment to groups of the same sizes is then
equally likely, the observed one included.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.arrays import quotient
from qwem._internal.settings import require_choice, require_whole
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Array: TypeAlias = NDArray[np.float64]

Alternative = Literal["greater", "less", "two-sided"]

EXACT_WORDS = 40
"""Up to this many words, sums over all splits are counted exactly: 2²⁰ subsets of either half."""

MOST_DRAWS = 1_000_000
EXACT_SPLITS = 20_000
"""Up to this many splits, a statistic that is not a sum is computed for each."""

CLASS_WORDS = 500
"""Number of words of similar frequency whose permutations are pooled."""

FEWEST_ASSIGNMENTS = 20
"""With fewer different assignments of folds to slices there is no test."""

# Statistics that differ by less than this, relative to their size, are ties.
_ROUNDING = 1e-9


class PValue(NamedTuple):
    """A p-value, and whether it is from all splits or from random ones."""

    value: float
    exact: bool
    splits: int
    """How many splits were compared, the observed one included."""


def check_test(alternative: str, draws: int, seed: int) -> None:
    """Raise `SettingError` for invalid settings of a test."""
    require_choice("alternative", alternative, ("greater", "less", "two-sided"))
    require_whole("draws", draws, least=1, most=MOST_DRAWS)
    require_whole("seed", seed, least=0)


def p_value_of_sum(
    scores: Array, size: int, alternative: Alternative, *, draws: int, seed: int
) -> PValue:
    """Return the p-value of the sum of the first `size` scores among all splits of the scores.

    For up to `EXACT_WORDS` scores all splits are counted without listing them: every subset of one
    half is matched with a sorted list of those of the other (Horowitz and Sahni 1974). For more
    scores, `draws` random splits and the observed one are compared.

    >>> p_value_of_sum(np.array([3.0, 2.0, 1.0, 0.0]), 2, "greater", draws=99, seed=0)
    PValue(value=0.16666666666666666, exact=True, splits=6)
    """
    centred = scores - scores.mean()
    observed = float(centred[:size].sum())
    slack = _ROUNDING * (float(np.abs(centred).sum()) or 1.0)
    if len(scores) <= EXACT_WORDS:
        splits = comb(len(scores), size)
        signs = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}[alternative]
        least = max(sign * observed for sign in signs) - slack
        extreme = sum(count_sums_at_least(sign * centred, size, least) for sign in signs)
        # A sum near 0 is counted on both sides.
        return PValue(min(1.0, extreme / splits), True, splits)
    drawn = _random_splits(len(scores), size, draws, seed) @ centred
    return p_value_of_splits(observed, drawn, alternative, exact=False, slack=slack)


def p_value_of_splits(
    observed: float,
    drawn: Array,
    alternative: Alternative,
    exact: bool,
    slack: float | None = None,
) -> PValue:
    """Return the p-value of a statistic, given its values for the splits of `splits_of`.

    All splits include the observed one. Random splits do not, so it is added to them. Values that
    differ by less than `slack` are ties.
    """
    if slack is None:
        slack = _ROUNDING * (float(np.abs(drawn).max()) or 1.0)
    if alternative == "two-sided":
        extreme = np.abs(drawn) >= abs(observed) - slack
    else:
        sign = 1 if alternative == "greater" else -1
        extreme = sign * drawn >= sign * observed - slack
    added = 0 if exact else 1
    splits = len(drawn) + added
    return PValue((added + int(np.count_nonzero(extreme))) / splits, exact, splits)


def splits_of(count: int, size: int, *, draws: int, seed: int) -> tuple[NDArray[np.bool_], bool]:
    """Return which words are in the first group, one row per split, and whether these are all.

    >>> splits_of(3, 1, draws=99, seed=0)[0].astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    if comb(count, size) <= EXACT_SPLITS:
        return _inside(np.array(list(combinations(range(count), size))), count), True
    return _random_splits(count, size, draws, seed), False


def _random_splits(count: int, size: int, draws: int, seed: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    return _inside(rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)[:, :size], count)


def _inside(chosen: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    inside = np.zeros((len(chosen), count), dtype=bool)
    np.put_along_axis(inside, chosen, True, axis=1)
    return inside


def assignments(slices: ArrayLike, strata: NDArray[np.int64], draws: int, seed: int) -> Array:
    """Return assignments of folds to slices within strata, one per row, the observed one first.

    `slices` has the number of the slice of each fold, or its score. Between two slices without
    strata all assignments are returned if there are no more than `draws` + 1.
    """
    observed = np.asarray(slices, dtype=np.float64)
    places = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    different = prod(_assignment_count(observed[place]) for place in places)
    if not draws:
        return observed[None]
    if different < FEWEST_ASSIGNMENTS:
        raise SettingError(
            f"There are only {different} ways to assign the folds to the slices, too few for "
            "p-values; use more folds (which need more documents or groups), or permutations=0."
        )
    if len(places) == 1 and len(set(observed.tolist())) == 2 and different <= draws + 1:
        size = int((observed == observed[0]).sum())
        inside = _inside(np.array(list(combinations(range(len(observed)), size))), len(observed))
        # The observed assignment need not be the first of all.
        order = np.argsort((inside != (observed == observed[0])).sum(axis=1), kind="stable")
        return np.where(inside[order], observed[0], observed[observed != observed[0]][0])
    rng = np.random.default_rng([seed, 2])
    drawn = np.tile(observed, (draws + 1, 1))
    for place in places:
        drawn[1:, place] = rng.permuted(drawn[1:, place], axis=1)
    return drawn


def _assignment_count(slices: Array) -> int:
    """Return how many different assignments of some folds to their slices there are."""
    _, counts = np.unique(slices, return_counts=True)
    return factorial(len(slices)) // prod(map(factorial, counts.tolist()))


def pooled_p_values(ratios: Array, counts: NDArray[np.integer]) -> Array:
    """Return p-values of the first row of statistics, given those of random assignments below it.

    Each word's statistics are standardized by mean and spread over all rows, so that all are
    treated alike. The first is then compared with the standardized ones of words of similar
    frequency in all other rows, because a few assignments give few different values for one word.
    """
    scores = quotient(ratios - ratios.mean(axis=0), ratios.std(axis=0))
    p_values = np.empty(ratios.shape[1])
    order = np.argsort(-counts, kind="stable")
    for words in np.array_split(order, max(1, len(order) // CLASS_WORDS)):
        chance = np.sort(scores[1:, words], axis=None)
        larger = len(chance) - np.searchsorted(chance, scores[0, words] - 1e-12)
        p_values[words] = (1 + larger) / (1 + len(chance))
    return p_values


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
