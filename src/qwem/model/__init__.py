"""Text to a saved model in one call: settings, `fit`, `Model`, and the scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.imports import lazy_names
from qwem._internal.resources import threads

if TYPE_CHECKING:
    from qwem.model.fitting import count, fit, fit_counts, read
    from qwem.model.loading import load
    from qwem.model.model import Model
    from qwem.model.new_words import NewVectors, NewWord
    from qwem.model.provenance import reject_fixed_settings
    from qwem.model.settings import PRESETS, Preset, ResolvedSettings, Settings, resolve_auto
    from qwem.model.solution import ClosedForm, build_target
    from qwem.model.update_state import UpdateState
    from qwem.model.vectorizer import QwemVectorizer

__all__ = [
    "PRESETS",
    "ClosedForm",
    "Model",
    "NewVectors",
    "NewWord",
    "Preset",
    "QwemVectorizer",
    "ResolvedSettings",
    "Settings",
    "UpdateState",
    "build_target",
    "count",
    "fit",
    "fit_counts",
    "load",
    "read",
    "reject_fixed_settings",
    "resolve_auto",
    "threads",
]

# Settings alone don't need SciPy, nor fits scikit-learn.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "fitting": ("count", "fit", "fit_counts", "read"),
        "loading": ("load",),
        "model": ("Model",),
        "new_words": ("NewVectors", "NewWord"),
        "provenance": ("reject_fixed_settings",),
        "settings": ("PRESETS", "Preset", "ResolvedSettings", "Settings", "resolve_auto"),
        "solution": ("ClosedForm", "build_target"),
        "update_state": ("UpdateState",),
        "vectorizer": ("QwemVectorizer",),
    },
)
