"""The files that the page is made of: templates, style and scripts."""

from __future__ import annotations

from importlib.resources import files


def asset(name: str) -> str:
    """Return the text of a file that comes with this room.

    >>> asset("page.html").startswith("<!doctype html>")
    True
    """
    return files("qwem.report").joinpath(name).read_text("utf-8")
