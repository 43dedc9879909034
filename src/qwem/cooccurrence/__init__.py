"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.contexts import context_count, context_matrix
from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.estimating import expected_row_pairs, sampled_pairs
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.slots import Slot, window_slots, window_weights
from qwem.cooccurrence.subsampling import Subsampling, acceptance
from qwem.cooccurrence.summing import add_rows, add_saved, saved_rows, saved_sources

__all__ = [
    "Cooccurrence",
    "PairCounts",
    "Slot",
    "Subsampling",
    "acceptance",
    "add_rows",
    "add_saved",
    "context_count",
    "context_matrix",
    "expected_row_pairs",
    "sampled_pairs",
    "saved_rows",
    "saved_sources",
    "window_slots",
    "window_weights",
]
