"""Text to a saved model in one call: settings, `fit`, `Model`, and the scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.imports import lazy_names

if TYPE_CHECKING:
    from qwem.model.choices import Settled, settle
    from qwem.model.embed import NewWord
    from qwem.model.embedding_rows import EmbeddedRows
    from qwem.model.fitting import count, fit, fit_counts, read
    from qwem.model.keeping import Kept
    from qwem.model.learning import Solvers, build_target, moved_start
    from qwem.model.model import Model, Offsets
    from qwem.model.provenance import refuse_settled
    from qwem.model.settings import PRESETS, Preset, SettingChanges, Settings
    from qwem.model.vectorizer import QwemVectorizer

__all__ = [
    "PRESETS",
    "EmbeddedRows",
    "Kept",
    "Model",
    "NewWord",
    "Offsets",
    "Preset",
    "QwemVectorizer",
    "SettingChanges",
    "Settings",
    "Settled",
    "Solvers",
    "build_target",
    "count",
    "fit",
    "fit_counts",
    "moved_start",
    "read",
    "refuse_settled",
    "settle",
]

# Settings alone don't need SciPy, nor fits scikit-learn.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "choices": ("Settled", "settle"),
        "embed": ("NewWord",),
        "embedding_rows": ("EmbeddedRows",),
        "fitting": ("count", "fit", "fit_counts", "read"),
        "keeping": ("Kept",),
        "learning": ("Solvers", "build_target", "moved_start"),
        "model": ("Model", "Offsets"),
        "provenance": ("refuse_settled",),
        "settings": ("PRESETS", "Preset", "SettingChanges", "Settings"),
        "vectorizer": ("QwemVectorizer",),
    },
)
