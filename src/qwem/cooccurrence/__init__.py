"""From `Corpus` to `Cooccurrence`: exact counts of how often words occur together."""

from qwem.cooccurrence.contexts import context_matrix
from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.slots import Slot

__all__ = ["Cooccurrence", "Slot", "context_matrix"]
