"""Word embeddings in closed form: count, build the target matrix M*, read off its eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.resources import lazy_names

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.embedding import Embedding, read_vectors
    from qwem.errors import QwemError
    from qwem.evaluation import evaluate
    from qwem.model import Model, Settings, fit, load, threads
    from qwem.spectrum import Spectrum, factorize
    from qwem.target import Target, contrastive_target, mstar, pmi, ppmi, simclr_target

__all__ = [
    "Cooccurrence",
    "Corpus",
    "Embedding",
    "Model",
    "QwemError",
    "Settings",
    "Spectrum",
    "Target",
    "Vocabulary",
    "__version__",
    "contrastive_target",
    "evaluate",
    "factorize",
    "fit",
    "load",
    "mstar",
    "pmi",
    "ppmi",
    "read_vectors",
    "simclr_target",
    "threads",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cooccurrence": ("Cooccurrence",),
        "corpus": ("Corpus", "Vocabulary"),
        "embedding": ("Embedding", "read_vectors"),
        "errors": ("QwemError",),
        "evaluation": ("evaluate",),
        "model": ("Model", "Settings", "fit", "load", "threads"),
        "spectrum": ("Spectrum", "factorize"),
        "target": ("Target", "contrastive_target", "mstar", "pmi", "ppmi", "simclr_target"),
    },
    subpackages=(
        "cluster",
        "comparison",
        "cooccurrence",
        "corpus",
        "dynamics",
        "embedding",
        "errors",
        "evaluation",
        "interpretation",
        "model",
        "pages",
        "paper",
        "polish",
        "spectrum",
        "target",
        "training",
    ),
)
