"""Imports on use: optional dependencies, and public names of a package."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def require(module: str, extra: str) -> Any:
    """Import `module`, or say which extra of qwem installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        from qwem.errors import MissingExtraError

        package = module.partition(".")[0]
        raise MissingExtraError(
            f"This needs {package}, which is not installed: pip install 'qwem[{extra}]'."
        ) from error


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports these names on first use.

    >>> get, listed = lazy_names("json", {"decoder": ["JSONDecodeError"]}, ["tool"])
    >>> get("JSONDecodeError").__name__, get("tool").__name__, "tool" in listed()
    ('JSONDecodeError', 'json.tool', True)
    """
    home = {name: module for module, names in modules.items() for name in names}
    children = set(subpackages)

    def get(name: str) -> Any:
        if name in home:
            return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        if name in children:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        own = vars(sys.modules[package])
        return sorted({*home, *children, *own.get("__all__", ()), *filter(_is_special, own)})

    return get, listed


def _is_special(name: str) -> bool:
    return name.startswith("__")
