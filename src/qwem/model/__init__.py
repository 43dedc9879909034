"""Text to a saved model in one call: settings, `fit`, `Model`, and the scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal import lazy_names
from qwem._internal.resources import threads

if TYPE_CHECKING:
    from qwem.model.fitting import fit
    from qwem.model.loading import load
    from qwem.model.model import Model
    from qwem.model.settings import Settings
    from qwem.model.vectorizer import QwemVectorizer

__all__ = [
    "Model",
    "QwemVectorizer",
    "Settings",
    "fit",
    "load",
    "threads",
]

# Settings alone don't need SciPy, nor fits scikit-learn.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "fitting": ("fit",),
        "loading": ("load",),
        "model": ("Model",),
        "settings": ("Settings",),
        "vectorizer": ("QwemVectorizer",),
    },
)
