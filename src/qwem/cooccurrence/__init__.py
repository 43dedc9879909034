"""From `Corpus` to `Cooccurrence`: exact counts of how often words occur together."""

from qwem.cooccurrence.contexts import Slot, context_matrix
from qwem.cooccurrence.cooccurrence import Cooccurrence

__all__ = ["Cooccurrence", "Slot", "context_matrix"]
