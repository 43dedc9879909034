"""Target → Spectrum: the top eigenpairs of a target, from which every embedding is read off."""

from qwem.spectrum.factorizing import Method, factorize
from qwem.spectrum.lapack import count_nonnegative
from qwem.spectrum.selection import fix_signs
from qwem.spectrum.spectrum import Spectrum
from qwem.spectrum.triplets import Triplets, singular_triplets

__all__ = [
    "Method",
    "Spectrum",
    "Triplets",
    "count_nonnegative",
    "factorize",
    "fix_signs",
    "singular_triplets",
]
