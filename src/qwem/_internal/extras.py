"""Optional dependencies, imported on use."""

from __future__ import annotations

import importlib
from typing import Any

from qwem.errors import MissingExtraError


def require(module: str, extra: str) -> Any:
    """Import `module`, or say which extra of qwem installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"This needs {package}, which is not installed: pip install 'qwem[{extra}]'."
        ) from error
