"""Modules of the application joined into one script: every module once, after its imports."""

from __future__ import annotations

import pytest

from qwem.pages import writing
from qwem.pages.writing import join_modules


def texts(monkeypatch: pytest.MonkeyPatch, **modules: str) -> None:
    monkeypatch.setattr(writing, "app_file", lambda name: modules[name[:-3]].encode())


def test_modules_come_once_and_after_what_they_import(monkeypatch: pytest.MonkeyPatch) -> None:
    texts(
        monkeypatch,
        main='import { b } from "./b.js";\nimport {\n  c,\n} from "./c.js";\nb(c);\n',
        b='import { c } from "./c.js";\nexport function b() { return c; }\n',
        c="export const c = 1;\n",
    )
    expected = ["const c = 1;", "function b() { return c; }", "b(c);"]
    assert join_modules("main.js").split("\n") == expected


def test_one_name_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    main = 'import { b } from "./b.js";\nconst a = 1;\n'
    texts(monkeypatch, main=main, b="const a = 2;\nexport const b = a;\n")
    with pytest.raises(ValueError, match=r"b\.js and main\.js both declare a"):
        join_modules("main.js")


def test_the_joined_application_imports_nothing() -> None:
    script = join_modules("main.js")
    assert "\nimport " not in script
    assert "\nexport " not in script
    assert script.count("function singularValue(") == 1
