"""Puts doctests into fences, so that the API pages show them as code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from griffe import Extension

if TYPE_CHECKING:
    from griffe import Object

_DOCTEST = re.compile(r"^( *)>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL)


class FencedDoctests(Extension):
    """Rewrites every docstring that griffe collects."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Fence the doctests of one object."""
        if obj.docstring is not None:
            fenced = r"\1```pycon\n\g<0>\n\1```"
            obj.docstring.value = _DOCTEST.sub(fenced, obj.docstring.value)
