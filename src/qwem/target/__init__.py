"""Cooccurrence → Target: M*, PMI, PPMI, SimCLR, any contrastive loss, and their reweightings."""

from qwem.target.contrastive import contrastive_target, derivatives_at_zero, simclr_target
from qwem.target.formula import Derivatives
from qwem.target.information import pmi, ppmi
from qwem.target.quadratic import mstar
from qwem.target.reweighting import (
    Reweighting,
    dynamic_window,
    negative_sampling,
    none,
    rank_one,
    setting31,
    subsampling,
    word_probability,
)
from qwem.target.target import Target

__all__ = [
    "Derivatives",
    "Reweighting",
    "Target",
    "contrastive_target",
    "derivatives_at_zero",
    "dynamic_window",
    "mstar",
    "negative_sampling",
    "none",
    "pmi",
    "ppmi",
    "rank_one",
    "setting31",
    "simclr_target",
    "subsampling",
    "word_probability",
]
