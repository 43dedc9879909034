"""Modules joined into one script: every module once, after those that it imports."""

from __future__ import annotations

import pytest

from qwem.report import asset, join_modules


def test_modules_come_once_and_after_what_they_import() -> None:
    texts = {
        "main.js": 'import { b } from "./b.js";\nimport {\n  c,\n} from "./deep/c.js";\nb(c);\n',
        "b.js": 'import { c } from "./deep/c.js";\nexport function b() { return c; }\n',
        "deep/c.js": 'import { d } from "./d.js";\nexport const c = d;\n',
        "deep/d.js": "export class d {}\n",
    }
    joined = join_modules("main.js", texts.__getitem__)
    assert joined.split("\n") == [
        "class d {}",
        "const c = d;",
        "function b() { return c; }",
        "b(c);",
    ]


def test_one_name_is_declared_once() -> None:
    texts = {
        "main.js": 'import { b } from "./b.js";\nconst a = 1;\n',
        "b.js": "const a = 2;\nexport const b = a;\n",
    }
    with pytest.raises(ValueError, match=r"b\.js and main\.js both declare a"):
        join_modules("main.js", texts.__getitem__)


def test_the_script_of_the_report_imports_nothing() -> None:
    script = join_modules("page.js", asset)
    assert "\nimport " not in script
    assert "\nexport " not in script
    assert script.count("function singularValue(") == 1
