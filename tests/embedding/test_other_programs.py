"""The lines of the documentation that run other programs on our files."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from qwem.embedding import Embedding, write_hub, write_vectors

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "where-vectors-go.md"


@pytest.fixture
def embedding() -> Embedding:
    return Embedding(["king", "queen", "straße"], np.random.default_rng(0).normal(size=(3, 4)))


def run(command: list[str], directory: Path) -> str:
    result = subprocess.run(command, capture_output=True, text=True, cwd=directory)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.skipif(find_spec("spacy") is None, reason="spaCy is not installed")
def test_spacy_reads_the_text_format(embedding: Embedding, tmp_path: Path) -> None:
    line = re.search(r"^python (-m spacy .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert line is not None
    write_vectors(embedding, tmp_path / "vectors.txt")
    run([sys.executable, *shlex.split(line[1])], tmp_path)
    program = "import spacy; print(*spacy.load('spacy-vectors')('queen')[0].vector)"
    found = np.array(run([sys.executable, "-c", program], tmp_path).split(), dtype=np.float32)
    np.testing.assert_allclose(found, embedding["queen"], rtol=1e-6)


@pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed"
)
def test_sentence_transformers_runs_the_example(embedding: Embedding, tmp_path: Path) -> None:
    blocks = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    code = next(block for block in blocks if "sentence_transformers" in block)
    write_hub(embedding, tmp_path / "hub", tokenizer="letters")
    *imports, last = code.strip().splitlines()
    program = "\n".join([*imports, f"rows = {last}", "print(rows.shape)"])
    assert run([sys.executable, "-c", program], tmp_path).splitlines()[-1] == "(2, 4)"
