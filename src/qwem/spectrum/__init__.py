"""Target → Spectrum: the top eigenpairs of a target, from which every embedding is read off."""

from qwem.spectrum.factorizing import Method, Solvable, factorize
from qwem.spectrum.result import Spectrum
from qwem.spectrum.selection import fix_signs

__all__ = ["Method", "Solvable", "Spectrum", "factorize", "fix_signs"]
