"""Models to show, and clients that ask about them."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from pages.page import watched
from qwem.comparison import stability
from qwem.dynamics import closed_form
from qwem.interpretation.shapes import built_in_shapes
from qwem.pages import load_models, write_page
from qwem.pages.concordance import Concordance
from qwem.pages.data import PageData
from qwem.pages.models import page_model
from qwem.pages.server import build_app, listen, make_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome

    from pages.page import Page
    from qwem import Model
    from qwem.pages.models import PageModel

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
def models(closed: Model, polished: Model) -> list[PageModel]:
    return [page_model(polished, "polished"), page_model(closed, "closed")]


@pytest.fixture
def saved(polished: Model, tmp_path: Path) -> Path:
    polished.save(tmp_path / "model")
    return tmp_path / "model"


def client_of(models: list[PageModel], **options: Any) -> Any:
    """Return a client that knows the token, of a server of these models."""
    from starlette.testclient import TestClient

    app = build_app(PageData(models, tasks=None), token=TOKEN, port=PORT, **options)
    return TestClient(
        app,
        base_url=f"http://127.0.0.1:{PORT}",
        headers={"Authorization": f"Bearer {TOKEN}"},
        follow_redirects=False,
    )


@pytest.fixture(scope="session")
def client(models: list[PageModel]) -> Any:
    return client_of(models)


@pytest.fixture
def saved_client(saved: Path) -> Any:
    """A client of a model that was loaded from a directory."""
    return client_of(load_models([saved]))


@pytest.fixture(scope="session")
def opened(
    polished: Model,
    closed: Model,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[PageModel]:
    """Models from disk: one with a training run and its text, another, a stable one, a circle."""
    from qwem.training import Trace

    directory = tmp_path_factory.mktemp("models")
    polished.save(directory / "polished")
    closed.save(directory / "closed")
    run = closed_form(polished.spectrum, init_scale=1e-6)
    times = run.time(np.linspace(0, 2, 9))
    Trace(
        polished.vocabulary, {}, np.arange(9), times, run.loss(times), run.singular_values(times),
        np.full(9, np.nan), {8: (np.zeros((len(polished.vocabulary), 8)),)},
    ).save(directory / "run")  # fmt: skip
    texts = ["the king and the queen", "the duke and the lady", "a cat and a dog"] * 9
    stability(texts, folds=4, dim=2).save(directory / "stable")
    angle = 2 * np.pi * np.arange(12) / 12
    months = built_in_shapes()["months"].words
    qwem.Embedding(months, np.c_[np.cos(angle), np.sin(angle)]).save(directory / "months")
    models = [directory / name for name in ("polished", "closed", "stable", "months")]
    found = load_models(models, trace=directory / "run")
    found[0].concordance = Concordance([" ".join(words) + "." for words in documents()])
    return found


@contextmanager
def running(models: list[PageModel]) -> Iterator[int]:
    """Yield the port of a server in a thread of this process."""
    with listen() as listening:
        port = int(listening.getsockname()[1])
        data = PageData(models, title="Words", tasks=None)
        server = make_server(build_app(data, token=TOKEN, port=port))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield port
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def address(opened: list[PageModel]) -> Iterator[str]:
    """The address of a running server, with its token."""
    with running(opened) as port:
        yield f"http://127.0.0.1:{port}/?token={TOKEN}"


@pytest.fixture(scope="session")
def exported(opened: list[PageModel], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    return write_page(opened[:2], path, title="Words", tasks=None).as_uri()


@pytest.fixture
def served(browser: Chrome, address: str) -> Iterator[Page]:
    with watched(browser, address) as page:
        yield page


@pytest.fixture(scope="session", params=["served", "exported"])
def place(request: pytest.FixtureRequest) -> str:
    """Where the page is: on the server, and in a file. Tests of each come one after another."""
    return request.getfixturevalue("address" if request.param == "served" else "exported")


@pytest.fixture
def page(place: str, browser: Chrome) -> Iterator[Page]:
    """The page from the server, and the page in a file."""
    with watched(browser, place) as opened_page:
        yield opened_page
