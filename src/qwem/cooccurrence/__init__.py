"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.subsampling import acceptance
from qwem.cooccurrence.windows import window_weights

__all__ = ["Cooccurrence", "PairCounts", "acceptance", "window_weights"]
