"""Target → Spectrum: the top eigenpairs of a target, from which every embedding is read off."""

from qwem.spectrum.factorizing import factorize
from qwem.spectrum.lapack import count_nonnegative
from qwem.spectrum.spectrum import Spectrum
from qwem.spectrum.triplets import singular_triplets

__all__ = [
    "Spectrum",
    "count_nonnegative",
    "factorize",
    "singular_triplets",
]
