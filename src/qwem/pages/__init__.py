"""Pages about a model: an overview and interactive views, in one file or from a server."""

from qwem.pages.models import load_models
from qwem.pages.server import serve
from qwem.pages.writing import write_page

__all__ = ["load_models", "serve", "write_page"]
