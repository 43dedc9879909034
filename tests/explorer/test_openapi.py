"""The server keeps to its OpenAPI description, whatever it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from explorer.conftest import PORT, TOKEN
from qwem.explorer import build_app
from qwem.explorer.openapi import description
from qwem.explorer.routes import ROUTES, Route

if TYPE_CHECKING:
    from qwem.explorer import Explored

schemathesis = pytest.importorskip("schemathesis", reason="it makes up the requests")

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": f"127.0.0.1:{PORT}"}
EXAMPLES = 4  # of each kind for each route


@pytest.fixture(scope="module")
def described(models: list[Explored]) -> Any:
    app = build_app(models, token=TOKEN, port=PORT)
    return schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HEADERS)


def known_words(route: Route) -> dict[str, str]:
    """Words that the models have, for the parameters that take one."""
    return {each.name: f"word{i}" for i, each in enumerate(route.parameters) if each.required}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_made_up_requests_find_nothing(described: Any, route: Route) -> None:
    operation = described[route.path][route.method]
    modes = schemathesis.GenerationMode
    strategy = operation.as_strategy(modes.POSITIVE) | operation.as_strategy(modes.NEGATIVE)
    if words := known_words(route):
        strategy |= operation.as_strategy(modes.POSITIVE, query=words)

    @hypothesis.settings(
        max_examples=EXAMPLES * (3 if words else 2),
        derandomize=True,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def ask(case: Any) -> None:
        case.call_and_validate(headers=HEADERS)

    ask()


def test_the_description_is_served(client: Any) -> None:
    assert client.get("/api/openapi.json").json() == description()
