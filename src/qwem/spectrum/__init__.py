"""From `Target` to `Spectrum`: the leading eigenpairs of a target, which give the embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.resources import lazy_names

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import count_nonnegative, factorize
    from qwem.spectrum.spectrum import Spectrum
    from qwem.spectrum.triplets import singular_triplets

__all__ = [
    "Spectrum",
    "count_nonnegative",
    "factorize",
    "singular_triplets",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "factorizing": ("count_nonnegative", "factorize"),
        "spectrum": ("Spectrum",),
        "triplets": ("singular_triplets",),
    },
)
