"""Templates, style sheet and scripts of the page."""

from __future__ import annotations

from importlib.resources import files


def asset(name: str) -> str:
    """Return the text of a file of this package.

    >>> asset("page.html").startswith("<!doctype html>")
    True
    """
    return files("qwem.report").joinpath(name).read_text("utf-8")
