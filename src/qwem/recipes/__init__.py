"""Whole experiments, put together from the rooms."""

from qwem.recipes.demo import DEMO_SETTINGS, Demo, demo_documents, run_demo
from qwem.recipes.training import TrainedRun, TrainingSettings, run_training

__all__ = [
    "DEMO_SETTINGS",
    "Demo",
    "TrainedRun",
    "TrainingSettings",
    "demo_documents",
    "run_demo",
    "run_training",
]
