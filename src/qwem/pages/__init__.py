"""One application: an overview to read and tools to play with, in one file or served."""

from qwem.pages.models import load_models
from qwem.pages.server import serve
from qwem.pages.writing import write_page

__all__ = ["load_models", "serve", "write_page"]
