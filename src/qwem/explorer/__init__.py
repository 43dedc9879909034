"""The explorer: look around in models, in a local page or in one file that needs no server."""

from qwem.explorer.exporting import write_page
from qwem.explorer.models import Explored, explored, load_models
from qwem.explorer.server import build_app, serve

__all__ = ["Explored", "build_app", "explored", "load_models", "serve", "write_page"]
