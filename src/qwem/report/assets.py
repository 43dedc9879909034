"""Templates, style sheets and scripts of the page, and modules joined into one script."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async function|function|class|const|let)", re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:async function|function\*?|class|const|let)\s+(\w+)", re.MULTILINE
)


def asset(name: str) -> str:
    """Return the text of a file of this package.

    >>> asset("page.html").startswith("<!doctype html>")
    True
    """
    return files("qwem.report").joinpath(name).read_text("utf-8")


def join_modules(entry: str, read: Callable[[str], str]) -> str:
    """Return a module and all that it imports as one script, to be embedded in a page.

    Each module comes after those that it imports, without its imports and exports. So modules
    import by name (``import { a, b } from "./other.js";``), and no two of them declare one name at
    their top level.

    Parameters
    ----------
    entry
        The path of the module to start with. Imports are relative to one folder.
    read
        A function that returns the text of a path.

    >>> print(join_modules("components/theme.js", asset)[:37])
    // Light and dark colours: the system
    """
    texts: dict[str, str] = {}

    def visit(name: str) -> None:
        text = read(name)
        for other in _IMPORT.findall(text):
            path = other if "/" not in name else f"{name.rpartition('/')[0]}/{other}"
            if path not in texts:
                visit(path)
        texts[name] = text

    visit(entry)
    homes: dict[str, str] = {}
    for name, text in texts.items():
        for declared in _DECLARED.findall(text):
            if declared in homes:
                raise ValueError(f"{homes[declared]} and {name} both declare {declared}.")
            homes[declared] = name
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)).strip() for text in texts.values())
