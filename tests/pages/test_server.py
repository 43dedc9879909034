"""Questions to the server: answered as by the library, and described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import numpy as np
import pytest

from pages.conftest import HOSTILE
from qwem.pages.server import BusyError, WorkerPool

if TYPE_CHECKING:
    from qwem import Model
    from qwem.pages.models import PageModel


def asked(client: Any, question: str, **body: Any) -> Any:
    answer = client.post(f"/api/{question}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_vectors_and_neighbours_are_those_of_the_embedding(client: Any, closed: Model) -> None:
    (vector,) = asked(client, "vectors", model=1, words=["word1"])
    assert vector == pytest.approx(closed.wv["word1"].tolist(), rel=1e-4)
    found = asked(client, "nearest", model=1, vector=vector, exclude=["word1"], count=5)
    words = [closed.vocabulary.words[index] for index, _ in found]
    assert words == [word for word, _ in closed.wv.most_similar("word1", topn=5)]


def test_hostile_words_are_asked_for_as_they_are(client: Any) -> None:
    for word in HOSTILE:
        assert len(asked(client, "vectors", words=[word])[0]) == 8


def test_dials_reach_the_vectors(client: Any, closed: Model) -> None:
    (vector,) = asked(client, "vectors", model=1, words=["word1"], d=3)
    assert vector == pytest.approx(closed.wv["word1"][:3].tolist(), rel=1e-4)
    (early,) = asked(client, "vectors", model=1, words=["word1"], t=0.1)
    assert np.linalg.norm(early) < 0.1 * np.linalg.norm(closed.wv["word1"])


def test_sentences_and_intervals_need_their_sources(client: Any) -> None:
    for question in ("passages", "stable"):
        answer = client.post(f"/api/{question}", json={"word": "word1"})
        assert answer.status_code == 404
        assert answer.json()["error"].endswith(".")


def test_passages_come_from_the_text(opened: list[PageModel]) -> None:
    from pages.conftest import client_of

    client = client_of(opened)
    found = asked(client, "passages", word="word1", near="word2", count=3)
    assert 1 <= len(found) <= 3
    assert {line["word"] for line in found} == {"word1"}
    stable = asked(client, "stable", model=2, word="king", count=2)
    assert all(each["low"] <= each["similarity"] <= each["high"] + 1e-6 for each in stable)


def test_questions_are_described(client: Any) -> None:
    found = client.get("/api/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    assert "/api/nearest" in found["paths"]
    assert "vector" in found["components"]["schemas"]["Nearest"]["properties"]


def test_a_full_queue_is_told_at_once() -> None:
    async def run() -> None:
        pool = WorkerPool(1, 0)
        async with anyio.create_task_group() as group:
            started = anyio.Event()

            def work() -> bytes:
                anyio.from_thread.run_sync(started.set)
                anyio.from_thread.run(release.wait)
                return b"done"

            release = anyio.Event()
            group.start_soon(pool.run, work)
            await started.wait()
            with pytest.raises(BusyError):
                await pool.run(lambda: b"")
            release.set()
        assert await pool.run(lambda: b"free again") == b"free again"

    anyio.run(run)
