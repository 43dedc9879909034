"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.estimating import expected_row_pairs, sampled_pairs
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.subsampling import Subsampling, acceptance
from qwem.cooccurrence.summing import add_rows, add_saved, saved_rows, saved_sources
from qwem.cooccurrence.windows import window_weights

__all__ = [
    "Cooccurrence",
    "PairCounts",
    "Subsampling",
    "acceptance",
    "add_rows",
    "add_saved",
    "expected_row_pairs",
    "sampled_pairs",
    "saved_rows",
    "saved_sources",
    "window_weights",
]
