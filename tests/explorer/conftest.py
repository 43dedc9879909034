"""Models to explore, and clients that ask about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from qwem.explorer import build_app, explored, load_models

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model
    from qwem.explorer import Explored

TOKEN, PORT = "a-token-of-the-tests", 8765
HOSTILE = ("<img src=x onerror=alert(1)>", "</script>", "a&b", "it's", "constructor", "__proto__")
"""Words that a page must show and never obey."""


def documents(seed: int = 7, words: int = 90, topics: int = 6) -> list[list[str]]:
    """Made-up documents about some topics each; some of the words are hostile."""
    generator = np.random.default_rng(seed)
    names = [*HOSTILE, *(f"word{i}" for i in range(words - len(HOSTILE)))]
    chances = generator.dirichlet(np.full(words, 0.15), size=topics)
    return [
        list(
            generator.choice(names, size=40, p=generator.dirichlet(np.full(topics, 0.2)) @ chances)
        )
        for _ in range(300)
    ]


@pytest.fixture(scope="session")
def closed() -> Model:
    """A model that is a closed form, with all its eigenvalues positive."""
    return qwem.fit(documents(), preset="paper", min_tokens=0, dim=8, window=5)


@pytest.fixture(scope="session")
def polished() -> Model:
    """A model with a coupling, negative eigenvalues and polished vectors."""
    return qwem.fit(documents(), subsample=0.02, dim=8)


@pytest.fixture(scope="session")
def counts() -> qwem.Cooccurrence:
    return qwem.Cooccurrence.count(qwem.Corpus.from_documents(documents()), window=5)


@pytest.fixture(scope="session")
def models(closed: Model, polished: Model, counts: qwem.Cooccurrence) -> list[Explored]:
    found = [explored(polished, "polished"), explored(closed, "closed")]
    found[0].counts = counts
    return found


@pytest.fixture
def saved(polished: Model, tmp_path: Path) -> Path:
    polished.save(tmp_path / "model")
    return tmp_path / "model"


def client_of(models: list[Explored], **options: Any) -> Any:
    """Return a client that knows the token, of a server of these models."""
    from starlette.testclient import TestClient

    app = build_app(models, token=TOKEN, port=PORT, **options)
    return TestClient(
        app,
        base_url=f"http://127.0.0.1:{PORT}",
        headers={"Authorization": f"Bearer {TOKEN}"},
        follow_redirects=False,
    )


@pytest.fixture(scope="session")
def client(models: list[Explored]) -> Any:
    return client_of(models)


@pytest.fixture
def saved_client(saved: Path) -> Any:
    """A client of a model that was loaded from a directory."""
    return client_of(load_models([saved]))
