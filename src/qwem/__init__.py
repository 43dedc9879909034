"""Word embeddings in closed form: count, build the target matrix M*, read off its eigenvectors."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.errors import QwemError

__all__ = ["Cooccurrence", "Corpus", "QwemError", "Vocabulary", "__version__"]

_HOME = {
    "Cooccurrence": "qwem.cooccurrence",
    "Corpus": "qwem.corpus",
    "QwemError": "qwem.errors",
    "Vocabulary": "qwem.corpus",
}


def __getattr__(name: str) -> Any:
    """Import a public name the first time it is used (PEP 562), so that `import qwem` is fast."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'qwem' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
