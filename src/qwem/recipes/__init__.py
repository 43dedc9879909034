"""Whole experiments, put together from the rooms."""

from qwem.recipes.demo import DEMO_SETTINGS, demo_documents
from qwem.recipes.training import TrainedRun, TrainingSettings, run_training

__all__ = ["DEMO_SETTINGS", "TrainedRun", "TrainingSettings", "demo_documents", "run_training"]
