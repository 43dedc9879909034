"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.contexts import context_matrix
from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.estimating import expected_row_pairs, sampled_pairs
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.slots import Slot, window_slots, window_weights
from qwem.cooccurrence.subsampling import Subsampling, acceptance

__all__ = [
    "Cooccurrence",
    "PairCounts",
    "Slot",
    "Subsampling",
    "acceptance",
    "context_matrix",
    "expected_row_pairs",
    "sampled_pairs",
    "window_slots",
    "window_weights",
]
