"""Puts doctests into fences, and the help of settings into their docstrings, for API pages."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from griffe import Docstring, Extension

if TYPE_CHECKING:
    from griffe import Attribute, Object

_DOCTEST = re.compile(r"^( *)>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL)


class FencedDoctests(Extension):
    """Rewrites every docstring that griffe collects."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Document a field that `setting` makes by its help."""
        made = ast.parse(str(attr.value or ""), mode="exec").body
        if made and isinstance(made[0], ast.Expr) and isinstance(made[0].value, ast.Call):
            call = made[0].value
            if isinstance(call.func, ast.Name) and call.func.id == "setting":
                about = ast.literal_eval(call.args[1])
                text = about[0].upper() + about[1:].rstrip(".") + "."
                for word in call.keywords:
                    if word.arg == "auto" and isinstance(word.value, ast.Call):
                        text += f' ``"auto"`` is {ast.literal_eval(word.value.args[0])}.'
                attr.docstring = Docstring(text)
                attr.value = ast.unparse(call.args[0])

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Fence the doctests of one object."""
        if obj.docstring is not None:
            fenced = r"\1```pycon\n\g<0>\n\1```"
            obj.docstring.value = _DOCTEST.sub(fenced, obj.docstring.value)
