"""``qwem export``: every format can be written, and options that don't fit it are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from safetensors.numpy import load_file

import qwem
from qwem.cli import main
from qwem.embedding import Embedding, read_vectors, write_vectors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "model"
    documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    model = qwem.fit(documents, dim=2, signed=True, tokenizer="ascii", polish=False)
    model.save(path)
    return path


@pytest.mark.parametrize(
    ("name", "file"),
    [("word2vec", "v.txt"), ("word2vec-binary", "v.bin"), ("glove", "v.txt"), ("npz", "v.npz"),
     ("npy", "v.npy"), ("safetensors", "v.safetensors"), ("qwem", "v")],
)  # fmt: skip
def test_formats_that_we_read_too(model: Path, tmp_path: Path, name: str, file: str) -> None:
    assert main(["export", str(model), "-o", str(tmp_path / file), "--format", name]) == 0
    np.testing.assert_array_equal(
        read_vectors(tmp_path / file).vectors, qwem.Model.load(model).embedding().vectors
    )


@pytest.mark.parametrize(
    ("file", "expected"),
    [("v.npz", "npz"), ("v.npy", "npy"), ("v.bin", "word2vec-binary"), ("v.txt", "word2vec"),
     ("v.bin.gz", "word2vec-binary"), ("v.safetensors", "safetensors"), ("v", "word2vec")],
)  # fmt: skip
def test_the_name_decides_the_format(
    model: Path, tmp_path: Path, file: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(model), "-o", str(tmp_path / file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == expected
    assert [path.name for path in tmp_path.iterdir()] == [file]
    found = read_vectors(tmp_path / file)
    assert found.provenance["format"] == expected
    np.testing.assert_array_equal(found.vectors, qwem.Model.load(model).embedding().vectors)


def test_fewer_words_and_smaller_numbers(model: Path, tmp_path: Path) -> None:
    for name in ("v.npz", "hub"):
        options = ["-o", str(tmp_path / name), "--prune", "3", "--dtype", "int8"]
        options += ["--format", "hub"] * (name == "hub")
        assert main(["export", str(model), *options]) == 0
    words = qwem.Model.load(model).embedding().restrict(3)
    found = read_vectors(tmp_path / "v.npz")
    assert found.index_to_key == words.index_to_key
    np.testing.assert_allclose(found.vectors, words.vectors, rtol=0.02, atol=0.02)
    stored = load_file(tmp_path / "hub" / "model.safetensors")
    assert (stored["embeddings"].shape, stored["embeddings"].dtype) == ((4, 2), np.int8)


def test_half_precision(model: Path, tmp_path: Path) -> None:
    options = ["-o", str(tmp_path / "v"), "--format", "qwem", "--dtype", "float16"]
    assert main(["export", str(model), *options]) == 0
    assert load_file(tmp_path / "v" / "vectors.safetensors")["vectors"].dtype == np.float16


def test_hub_of_a_model_and_of_a_file(model: Path, tmp_path: Path) -> None:
    command = ["export", str(model), "-o", str(tmp_path / "hub"), "--format", "hub", "--dim", "1"]
    assert main([*command, "--sif", "0.1", "--no-normalize"]) == 0
    rows = load_file(tmp_path / "hub" / "model.safetensors")["embeddings"]
    assert rows.shape == (len(qwem.Model.load(model).vocabulary) + 1, 1)
    described = json.loads((tmp_path / "hub" / "metadata.json").read_text("utf-8"))["provenance"]
    assert (described["tokenizer"], described["sif"], described["normalize"]) == (
        "ascii",
        0.1,
        False,
    )

    write_vectors(Embedding(["a", "b"], np.eye(2)), tmp_path / "v.txt")
    command = ["export", str(tmp_path / "v.txt"), "-o", str(tmp_path / "other"), "--format", "hub"]
    assert main(command) == 2
    assert main([*command, "--tokenizer", "whitespace"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dtype", "float16"], "word2vec has no float16"),
        (["--sif", "0.1"], "need --format hub"),
        (["--format", "npz", "--tokenizer", "letters"], "need --format hub"),
        (["--format", "hub", "--sif", "-1"], "must be positive, not -1"),
    ],
)
def test_options_that_do_not_fit(
    model: Path,
    tmp_path: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", str(model), "-o", str(tmp_path / "v"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
