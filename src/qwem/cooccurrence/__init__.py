"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts

__all__ = ["Cooccurrence", "PairCounts"]
