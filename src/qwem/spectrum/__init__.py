"""Target → Spectrum: the top eigenpairs of a target, from which every embedding is read off."""

from qwem.spectrum.factorizing import Method, Solvable, factorize
from qwem.spectrum.result import Spectrum

__all__ = ["Method", "Solvable", "Spectrum", "factorize"]
