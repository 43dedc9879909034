"""``qwem similar --from``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import qwem
from model.topics import topic_documents, topic_of
from qwem.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_new_word_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model"
    qwem.fit(topic_documents(), dim=8, polish=False).save(model)
    text = tmp_path / "text.txt"
    text.write_text("the bread of a hot pan with butter\nsalt and flour in hot pan, sugar\n")
    arguments = ["similar", str(model), "hot pan", "--from", str(text), "-n", "3"]
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["occurrences"] == 2
    assert len(report["vector"]) == 8
    assert {topic_of(found["word"]) for found in report["neighbours"]} == {"kitchen"}
    assert all(found["error"] > 0 for found in report["neighbours"])
    assert main(arguments) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "hot pan: found 2 times."
    assert len(shown) == 5
    assert main(["similar", str(model), "zzz", "--from", str(text)]) == 2
    assert "'zzz' does not occur" in capsys.readouterr().err
