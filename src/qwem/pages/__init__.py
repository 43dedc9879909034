"""One application: an overview to read and tools to play with, in one file or served."""

from qwem.pages.models import PageModel, load_models, page_model
from qwem.pages.results import read_results
from qwem.pages.server import serve
from qwem.pages.writing import write_page

__all__ = ["PageModel", "load_models", "page_model", "read_results", "serve", "write_page"]
