"""``qwem update``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from model.topics import topic_documents
from qwem._internal.artefact import updating
from qwem.cli import main
from qwem.model.naming import read_names, write_names

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_text_is_added_and_taken_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, model = tmp_path / "old.txt", tmp_path / "new.txt", tmp_path / "model"
    old.write_text("\n".join(topic_documents(1000)))
    new.write_text("\n".join(["a unicorn in the rain of a tree"] * 20))
    fit = ["fit", str(old), "-o", str(model), "--dim", "6", "--window", "5"]
    assert main([*fit, "--keep-counts"]) == 0
    write_names(model, {"closed": {1: "everything"}})
    capsys.readouterr()
    assert main(["update", str(model), str(new), "-n", "3"]) == 0
    assert read_names(model) == {"closed": {1: "everything"}}
    shown = capsys.readouterr().out
    assert "1 word entered: unicorn" in shown
    assert "features are the same" in shown
    assert main(["update", str(model), "--remove", str(new), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["moved"]["left"] == ["unicorn"]
    with updating(model):
        assert main(["update", str(model), str(new)]) == 2
    assert "is being updated by another process" in capsys.readouterr().err
    assert main(["update", str(model), "--remove", str(new)]) == 2
    assert "is not in the text of the model" in capsys.readouterr().err
    assert main(fit) == 0
    capsys.readouterr()
    assert main(["update", str(model), str(new)]) == 2
    assert "--keep-counts" in capsys.readouterr().err
