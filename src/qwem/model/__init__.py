"""The whole corridor in one call: text in, a saved model out."""

from qwem.model.fitting import count, fit, read
from qwem.model.model import Model
from qwem.model.settings import PRESETS, Settings

__all__ = ["PRESETS", "Model", "Settings", "count", "fit", "read"]
