"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.contexts import context_matrix
from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.slots import Slot
from qwem.cooccurrence.usage import Usage

__all__ = ["Cooccurrence", "PairCounts", "Slot", "Usage", "context_matrix"]
