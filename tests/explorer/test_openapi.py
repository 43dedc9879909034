"""The server keeps to its OpenAPI description, whatever it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from explorer.conftest import PORT, TOKEN
from qwem.explorer import build_app
from qwem.explorer.openapi import description

if TYPE_CHECKING:
    from qwem.explorer import Explored

schemathesis = pytest.importorskip("schemathesis", reason="requests are made up by schemathesis")


@pytest.fixture(scope="module")
def described(models: list[Explored]) -> Any:
    app = build_app(models, token=TOKEN, port=PORT)
    schema = schemathesis.openapi.from_dict(description())
    schema.app = app
    schema.config.update(base_url=f"http://127.0.0.1:{PORT}")
    return schema


schema = schemathesis.pytest.from_fixture("described")


@schema.parametrize()
@hypothesis.settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_made_up_requests_find_nothing(case: Any) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"})


def test_the_description_is_served(client: Any) -> None:
    assert client.get("/api/openapi.json").json() == description()
