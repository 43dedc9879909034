"""`qwem compare`: two models, or a model and a file of vectors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem import Embedding, read_vectors
from qwem.cli import main
from qwem.cli.io import plain
from qwem.embedding import write_vectors
from qwem.interpretation import overlaps

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A saved embedding, and a text file of some of its words, rotated and with noise."""
    directory = tmp_path_factory.mktemp("pair")
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    vectors = rng.normal(size=(40, 6)) * np.geomspace(1, 0.1, 6)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    Embedding(words, vectors).save(directory / "one")
    noisy = (vectors + 0.02 * rng.normal(size=vectors.shape)) @ turn
    write_vectors(Embedding(words[5:], noisy[5:]), directory / "two.txt", "word2vec")
    return directory / "one", directory / "two.txt"


def test_it_reports_what_the_library_finds(pair: tuple[Path, Path], capsys: Capture) -> None:
    assert main(["compare", *map(str, pair), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = overlaps(Embedding.load(pair[0]), read_vectors(pair[1]))
    assert found == json.loads(json.dumps(plain(expected)))
    assert found["shared_words"] == 35
    assert found["subspace_similarity"][0] > 0.9


def test_it_shows_the_subspaces_by_size(pair: tuple[Path, Path], capsys: Capture) -> None:
    assert main(["compare", *map(str, pair), "--dim", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("35 shared words. The spaces of the first 5 features have ")
    assert [line.split()[:2] for line in lines[2:]] == [["1", "1"], ["2", "2"], ["5", "5"]]


def test_more_features_than_there_are(pair: tuple[Path, Path], capsys: Capture) -> None:
    assert main(["compare", *map(str, pair), "--dim", "7"]) == 2
    assert "between 1 and 6" in capsys.readouterr().err


def test_a_path_with_a_typo(pair: tuple[Path, Path], capsys: Capture) -> None:
    assert main(["compare", str(pair[0]), "tow.txt"]) == 2
    assert "There is no file or directory tow.txt." in capsys.readouterr().err
