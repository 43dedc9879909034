"""The page in one file: everything it needs is inside, and nothing else can run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from pages.conftest import HOSTILE
from qwem.cli import main
from qwem.errors import SettingError
from qwem.pages import write_page
from qwem.pages.data import PageData
from qwem.pages.writing import _checksum, assemble_page

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.pages.models import PageModel


def parts_of(page: str) -> dict[str, bytes]:
    found = re.findall(r'id="part-([^"]+)">([^<]*)<', page)
    return {name: zlib.decompress(base64.b64decode(content)) for name, content in found}


@pytest.fixture(scope="module")
def data(models: list[PageModel]) -> PageData:
    return PageData(models, words=90, tasks=None)


@pytest.fixture(scope="module")
def page(data: PageData) -> str:
    return assemble_page(data)


def test_every_part_is_inside(page: str, data: PageData) -> None:
    assert parts_of(page) == {name: data.get(name) for name in data.names()}
    assert set(HOSTILE) <= set(json.loads(parts_of(page)["0/words"]))


def test_parts_are_those_of_the_server(page: str, client: Any) -> None:
    found = parts_of(page)
    assert json.loads(found["0/words"]) == client.get("/data/0/words").json()[:90]
    assert json.loads(found["0/features"]) == client.get("/data/0/features").json()
    assert found["compare/0-1"] == client.get("/data/compare/0-1").content


def test_only_its_own_script_and_style_are_allowed(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    for pattern in (r'<script type="module">(.*?)</script>', r"<style>(.*?)</style>"):
        found = re.findall(pattern, page, re.DOTALL)
        assert len(found) == 1
        assert _checksum(found[0]) in policy[1]


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)([^"']*)""", markup) == []


def test_the_same_model_gives_the_same_page(page: str, models: list[PageModel]) -> None:
    assert assemble_page(PageData(models, words=90, tasks=None)) == page


def test_the_command_writes_the_page(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(saved), "-o", str(page), "--words", "30", "--title", "Cats"]) == 0
    assert "MB" in capsys.readouterr().out
    found = parts_of(page.read_text("utf-8"))
    assert len(json.loads(found["0/words"])) == 30
    assert json.loads(found["page"])["title"] == "Cats"


def test_impossible_pages_are_refused(saved: Path, tmp_path: Path, models: list[PageModel]) -> None:
    with pytest.raises(SettingError, match="words must be"):
        write_page(models, tmp_path / "page.html", words=0)
    assert main(["report", str(saved), "-o", str(tmp_path)]) == 2
    assert main(["report", str(tmp_path / "nowhere"), "-o", str(tmp_path / "page.html")]) == 2
