"""The exported page holds the model's numbers, everything it needs, and nothing that can run."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem.cli import main
from qwem.errors import SettingError
from qwem.explorer import exporting, write_page
from qwem.explorer.exporting import assembled, exported
from qwem.explorer.pages import PageFile

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.explorer import Explored
    from qwem.explorer.spaces import Space

FILES = {
    "index.html": '<!doctype html>\n<html><head>\n<meta charset="utf-8">\n'
    '<link rel="stylesheet" href="components/base.css">\n<link rel="stylesheet" href="style.css">\n'
    '</head><body>\n<script type="module" src="main.js"></script>\n</body></html>\n',
    "components/base.css": "p { margin: 0 }",
    "style.css": "b { margin: 1px }",
    "main.js": 'import { one } from "./other.js";\nconst two = one + 1;\n',
    "other.js": "export const one = 1;\n",
}


@pytest.fixture(scope="module")
def data(models: list[Explored]) -> Any:
    return exported(models, 60)


def unpacked(part: dict[str, Any]) -> NDArray[np.float64]:
    kind = {8: "<i1", 16: "<i2"}[part["bits"]]
    whole = np.frombuffer(base64.b64decode(part["data"]), kind).reshape(-1, part["columns"])
    return whole * np.array(part["scales"])


def rows_of(space: Space, words: int) -> NDArray[np.float64]:
    return np.stack([space.column(k + 1)[:words] for k in range(space.dim)], axis=1)


def test_rows_are_rounded_and_no_more(data: Any, models: list[Explored]) -> None:
    for name, space in models[0].spaces.items():
        found = np.concatenate([unpacked(part) for part in data["spaces"][name]["parts"]], axis=1)
        exact = rows_of(space, 60)
        assert found.shape == exact.shape
        assert np.abs(found - exact).max() <= np.abs(exact).max() / 32767


def test_late_columns_have_fewer_bits(
    models: list[Explored], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "FINE_COLUMNS", 3)
    monkeypatch.setattr(exporting, "SECOND_SPACE_COLUMNS", 5)
    data = exported(models[:1], 60)
    parts = data["spaces"]["polished"]["parts"]
    assert [(part["first"], part["bits"], part["columns"]) for part in parts] == [
        (0, 16, 3),
        (3, 8, 5),
    ]
    assert data["spaces"]["closed"]["columns"] == 5
    closed = data["models"]["models"][0]["spaces"][1]
    assert closed["dim"] == len(closed["weights"]) == len(closed["start"]) == 5
    assert len(data["features"]["closed"]["features"]) == 5
    assert data["compare"] is None


def test_the_rest_is_what_the_server_says(data: Any, models: list[Explored], client: Any) -> None:
    assert tuple(data["words"]) == models[0].vocabulary.words[:60]
    facts = data["models"]["models"][0]
    assert facts["words"] == 60
    assert facts["can_name"] is False
    served = client.get("/api/models/0/features?count=8").json()
    assert data["features"]["polished"] == served
    labels = np.frombuffer(base64.b64decode(data["clusters"]["labels"]), np.uint8)
    every = client.get("/api/models/0/clusters/labels").content
    assert labels.tobytes() == every[:60]
    map_served = np.frombuffer(client.get("/api/models/0/layout").content, "<f4").reshape(2, -1).T
    assert np.abs(unpacked(data["layout"]) - map_served[:60]).max() < 1e-3
    word = data["words"][5]
    near = client.get("/api/models/0/collocates", params={"word": word}).json()["collocates"]
    assert [each[0] for each in data["collocates"][word]] == [each["word"] for each in near]
    moved = client.get("/api/compare/moved?a=0&b=1&n=100").json()
    assert data["compare"]["moved"] == moved
    first = moved["words"][0]["word"]
    theirs = client.get("/api/models/1/neighbours", params={"word": first}).json()["neighbours"]
    assert data["compare"]["neighbours"][first]["b"] == theirs


def test_everything_is_inside_and_allowed_by_its_checksum(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        exporting, "page_file", lambda name: PageFile(FILES[name].encode(), "text/plain")
    )
    page = assembled(data)
    assert (
        "src="
        not in page.partition("</head>")[2].replace("<img src=x", "").split("explorer-data")[0]
    )
    assert 'rel="stylesheet"' not in page
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    assert script is not None
    assert "import" not in script[1]
    assert "const one = 1;" in script[1]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for text in (script[1], FILES["components/base.css"], FILES["style.css"]):
        assert exporting._checksum(text) in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    embedded = re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)
    assert embedded is not None
    assert "<" not in embedded[1]
    assert json.loads(embedded[1]) == json.loads(json.dumps(data))
    assert {"</script>", "<img src=x onerror=alert(1)>"} <= set(json.loads(embedded[1])["words"])


def test_the_page_is_one_file(models: list[Explored], tmp_path: Path) -> None:
    page = write_page(models, tmp_path / "page.html", words=20).read_text("utf-8")
    assert page.startswith("<!doctype html>")
    outside = re.findall(
        r"""(?:src|href)\s*=\s*["'](?!#|data:)([^"']*)""", page.partition("<script")[0]
    )
    assert outside == []


def test_the_command_writes_it(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["explore", str(saved), "--export", str(page), "--words", "30"]) == 0
    assert "MB" in capsys.readouterr().out
    assert (
        len(
            json.loads(
                page.read_text("utf-8")
                .partition('id="explorer-data">')[2]
                .partition("</script>")[0]
            )["words"]
        )
        == 30
    )


def test_impossible_exports_are_refused(
    saved: Path, tmp_path: Path, models: list[Explored]
) -> None:
    with pytest.raises(SettingError, match="words must be"):
        write_page(models, tmp_path / "page.html", words=0)
    assert main(["explore", str(saved), "--words", "5"]) == 2
    assert main(["explore", str(saved), "--export", str(tmp_path)]) == 2
    assert main(["explore", str(tmp_path / "nowhere")]) == 2
