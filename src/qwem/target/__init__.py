"""From `Cooccurrence` to `Target`: M*, PMI, PPMI, SimCLR, any contrastive loss; reweighting."""

from qwem.target.reweighting import (
    Reweighting,
    negative_sampling,
    rank_one,
    setting31,
    subsampling,
    word_probability,
)
from qwem.target.target import Target
from qwem.target.targets import (
    asymmetric_mstar,
    contrastive_target,
    mstar,
    pmi,
    ppmi,
    simclr_target,
)

__all__ = [
    "Reweighting",
    "Target",
    "asymmetric_mstar",
    "contrastive_target",
    "mstar",
    "negative_sampling",
    "pmi",
    "ppmi",
    "rank_one",
    "setting31",
    "simclr_target",
    "subsampling",
    "word_probability",
]
