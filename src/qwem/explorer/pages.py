"""Files of the page, from this package and from the components that it shares with the report."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_OWN = re.compile(r"[a-z][a-z0-9_-]*\.(html|css|js|svg)")
_SHARED = re.compile(r"components/([a-z][a-z0-9_-]*\.(css|js))")


class PageFile(NamedTuple):
    """A file of the page and its type."""

    content: bytes
    media_type: str


def page_file(name: str) -> PageFile | None:
    """Return a file of the page by its address, or None where there is none.

    >>> page_file("../server.py") is None
    True
    """
    if _OWN.fullmatch(name):
        place = files("qwem.explorer").joinpath("page", name)
    elif shared := _SHARED.fullmatch(name):
        place = files("qwem.report").joinpath("components", shared[1])
    else:
        return None
    if not place.is_file():
        return None
    return PageFile(place.read_bytes(), _TYPES[name.rpartition(".")[2]])
