"""Models to report on, and their reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import qwem
from qwem.report import write_report

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model

HOSTILE = ("</script><script>alert(1)</script>", "<b>bold</b>", "a&amp;b", 'quo"te', "it's", "<!--")
"""Words that a page must show and never obey."""


def made_up_documents(words: int = 120, topics: int = 8) -> list[list[str]]:
    """Documents about some topics each, the first words of which are hostile."""
    generator = np.random.default_rng(7)
    names = [*HOSTILE, *(f"word{i}" for i in range(words - len(HOSTILE)))]
    chances = generator.dirichlet(np.full(words, 0.15), size=topics)
    documents = []
    for _ in range(400):
        mixture = generator.dirichlet(np.full(topics, 0.2)) @ chances
        documents.append(list(generator.choice(names, size=40, p=mixture)))
    return documents


@pytest.fixture(scope="session")
def model() -> Model:
    corpus = qwem.Corpus.from_documents(made_up_documents())
    return qwem.fit(corpus, preset="paper", dim=10, window=5)


@pytest.fixture(scope="session")
def practical() -> Model:
    """A model with a coupling, negative eigenvalues and polished vectors."""
    return qwem.fit(made_up_documents(), subsample=0.02, dim=10)


@pytest.fixture(scope="session")
def page(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(model, tmp_path_factory.mktemp("report") / "report.html", title="A <model>")


@pytest.fixture(scope="session")
def relations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up relations of nine pairs each, as analogy questions."""
    file = tmp_path_factory.mktemp("relations") / "relations.txt"
    lines = [
        f"word{i} word{i + step} word{i + 1} word{i + 1 + step}"
        for step in (40, 50)
        for i in range(1, 9)
    ]
    file.write_text("\n".join([": forty", *lines[:8], ": <fifty>", *lines[8:]]) + "\n")
    return file


@pytest.fixture(scope="session")
def practical_page(
    practical: Model, relations: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("report") / "practical.html"
    return write_report(practical, path, analogies=relations, tasks=relations)
