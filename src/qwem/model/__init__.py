"""The whole corridor in one call: text in, a saved model out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qwem.model.settings import PRESETS, Settings

if TYPE_CHECKING:
    from qwem.model.fitting import count, fit, read
    from qwem.model.model import Model

__all__ = ["PRESETS", "Model", "Settings", "count", "fit", "read"]

_MODULES = {"Model": "model", "count": "fitting", "fit": "fitting", "read": "fitting"}


def __getattr__(name: str) -> Any:
    """Import a name the first time it is used: settings alone must not cost SciPy (PEP 562)."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"qwem.model.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'qwem.model' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
