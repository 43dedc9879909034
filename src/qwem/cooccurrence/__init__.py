"""Corpus → Cooccurrence: how often words meet, counted exactly."""

from qwem.cooccurrence.contexts import context_matrix
from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.slots import Slot

__all__ = ["Cooccurrence", "Slot", "context_matrix"]
