"""Recipes: whole experiments, from text to results on disk."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qwem.recipes.demo import Demo, demo_documents, run_demo
from qwem.recipes.training import TrainedRun, TrainingSettings, run_training

if TYPE_CHECKING:
    from qwem.recipes.paper import RECIPES, SCALES, Reproduction, Scale, Size, reproduce

__all__ = [
    "RECIPES",
    "SCALES",
    "Demo",
    "Reproduction",
    "Scale",
    "Size",
    "TrainedRun",
    "TrainingSettings",
    "demo_documents",
    "reproduce",
    "run_demo",
    "run_training",
]


def __getattr__(name: str) -> Any:
    """Import the paper's recipes on use (PEP 562), since they import nearly everything."""
    if name in __all__:
        return getattr(importlib.import_module("qwem.recipes.paper"), name)
    raise AttributeError(f"module 'qwem.recipes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
