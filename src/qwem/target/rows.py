"""Rows of a target for words that are not in it: the same formula on new counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import SettingError
from qwem.target.building import fill_entries
from qwem.target.targets import formula_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

# Factors of Ψ⁺ and Ψ⁻ that leave the entries of a target as they are.
_CANCELLING = {"setting31", "rank_one", "subsampling"}


def target_rows(
    settings: Mapping[str, Any],
    word_counts: NDArray[np.int64],
    pair_counts: sparse.csr_array[Any],
    occurrences: ArrayLike,
) -> NDArray[np.float64]:
    """Return the rows that new words would have in a target, from their counts with its words.

    Parameters
    ----------
    settings
        The target's `settings`: they name its formula and say how many pairs it was made of.
    word_counts
        The counts of the target's words.
    pair_counts
        How often each new word met each word of the target, one row per new word.
    occurrences
        How often each new word occurred.

    The row of a word that is in the target is its own row there:

    >>> from qwem import Cooccurrence
    >>> from qwem.target import mstar
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> target = mstar(counts, shrinkage=1.0)
    >>> pairs = counts.symmetric.tocsr()
    >>> rows = target_rows(target.settings, counts.word_counts, pairs, counts.word_counts)
    >>> bool(np.allclose(rows, target.toarray()))
    True
    """
    if "pair_total" not in settings:
        raise SettingError(
            "This target was not made of counts, or of some that aren't recorded, so new words "
            "have no rows in it; fit from text or counts."
        )
    negatives = 1.0
    for factor in settings["reweighting"]:
        if factor["name"] == "negative_sampling" and factor["exponent"] == 1:
            negatives *= factor["negatives"]
        elif factor["name"] not in _CANCELLING:
            raise SettingError(
                f"New words have no rows in a target that is reweighted by {factor['name']}."
            )
    probability = word_counts / word_counts.sum()
    share = np.asarray(occurrences, dtype=np.float64) / word_counts.sum()
    left = negatives * settings["pair_total"] * share[:, None]
    entries = np.empty(pair_counts.shape)
    fill_entries(pair_counts, formula_of(settings), (left, probability[None, :]), entries)
    return entries
