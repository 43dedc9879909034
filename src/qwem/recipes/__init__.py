"""Whole experiments, put together from the rooms."""

from qwem.recipes.demo import DEMO_SETTINGS, demo_documents

__all__ = ["DEMO_SETTINGS", "demo_documents"]
