"""Word embeddings in closed form: count, build the target matrix M*, read off its eigenvectors."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.embedding import Embedding, read_vectors
    from qwem.errors import QwemError
    from qwem.evaluation import evaluate
    from qwem.model import Model, Settings, fit
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
    "mstar",
    "pmi",
    "ppmi",
    "read_vectors",
    "simclr_target",
]

_ROOMS = {
    "cooccurrence": ("Cooccurrence",),
    "corpus": ("Corpus", "Vocabulary"),
    "embedding": ("Embedding", "read_vectors"),
    "errors": ("QwemError",),
    "evaluation": ("evaluate",),
    "model": ("Model", "Settings", "fit"),
    "spectrum": ("Spectrum", "factorize"),
    "target": ("Target", "contrastive_target", "mstar", "pmi", "ppmi", "simclr_target"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name the first time it is used (PEP 562), so that `import qwem` is fast."""
    if name in _HOME:
        return getattr(importlib.import_module(f"qwem.{_HOME[name]}"), name)
    raise AttributeError(f"module 'qwem' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
