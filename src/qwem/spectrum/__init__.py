"""Target → Spectrum: the top eigenpairs of a target, from which every embedding is read off."""

from qwem.spectrum.factorizing import Method, factorize
from qwem.spectrum.selection import fix_signs
from qwem.spectrum.spectrum import Spectrum

__all__ = ["Method", "Spectrum", "factorize", "fix_signs"]
