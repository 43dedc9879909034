"""Who is let in, from where, and how much: each line of defence on its own."""

from __future__ import annotations

import secrets
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from pages.conftest import PORT, TOKEN, client_of
from qwem.errors import MissingExtraError, SettingError
from qwem.pages import questions, server
from qwem.pages.data import PageData
from qwem.pages.security import MOST_BODY_BYTES, MOST_HEADER_BYTES, RateLimiter
from qwem.pages.server import build_app, listen

if TYPE_CHECKING:
    from qwem.pages.models import PageModel

ADDRESS = "/data/page"


def status(client: Any, path: str = ADDRESS, **headers: str) -> int:
    answer = client.get(
        path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    if answer.status_code >= 400:
        assert list(answer.json()) == ["error"]
        assert answer.json()["error"].endswith(".")
    return int(answer.status_code)


def test_the_right_token_is_let_in(client: Any) -> None:
    assert status(client) == 200


@pytest.mark.parametrize(
    "token", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"]
)
def test_another_token_is_refused(client: Any, token: str) -> None:
    assert status(client, Authorization=token) == 401
    assert status(client, "/", Authorization=token) == 401
    assert status(client, "/nothing", Authorization=token) == 401


def test_tokens_are_compared_in_constant_time(
    models: list[PageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    real = secrets.compare_digest

    def compare(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return real(first, second)

    monkeypatch.setattr(secrets, "compare_digest", compare)
    assert status(client_of(models), Authorization="Bearer guess") == 401
    assert compared == [(b"guess", TOKEN.encode())]


def test_the_token_of_the_address_becomes_a_cookie(models: list[PageModel]) -> None:
    client = client_of(models)
    del client.headers["Authorization"]
    assert status(client) == 401
    answer = client.get("/", params={"token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in answer.headers["location"]
    assert status(client) == 200  # the client keeps cookies
    assert client.get("/", params={"token": "guess"}).status_code == 401


def test_a_token_in_the_address_is_for_the_page_only(models: list[PageModel]) -> None:
    client = client_of(models)
    del client.headers["Authorization"]
    assert status(client, f"{ADDRESS}?token={TOKEN}") == 401


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_requests_to_localhost_are_answered(client: Any, host: str) -> None:
    assert status(client, Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.evil.example:{PORT}",
        "",
    ],
)
def test_requests_to_other_host_names_are_refused(client: Any, host: str) -> None:
    """A site that points its own name at this machine (DNS rebinding) is not answered."""
    assert status(client, Host=host) == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"]
)
def test_pages_of_other_sites_are_not_answered(client: Any, origin: str) -> None:
    assert status(client, Origin=origin) == 403


def test_requests_from_the_page_itself_are_answered(client: Any) -> None:
    assert status(client, Origin=f"http://127.0.0.1:{PORT}", Sec_Fetch_Site="same-origin") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_that_another_page_makes_are_refused(client: Any, site: str) -> None:
    assert status(client, Sec_Fetch_Site=site) == 403
    # A link to the page may be followed; what it shows is still asked for by the page itself.
    assert status(client, "/?token=x", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == 401


def test_every_answer_has_a_strict_policy(client: Any) -> None:
    for path in (ADDRESS, "/nothing", "/data/7/words", "/"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy  # nothing from elsewhere
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_large_bodies_are_refused(client: Any) -> None:
    path = "/api/vectors"
    long = b" " * (MOST_BODY_BYTES + 1)
    json_type = {"Content-Type": "application/json"}
    assert client.post(path, content=long, headers=json_type).status_code == 413

    def pieces() -> Any:  # without a Content-Length
        for _ in range(70):
            yield b" " * 4096

    assert client.post(path, content=pieces(), headers=json_type).status_code == 413


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b"{", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"words": "b"}', "application/json", 400),
        (b'{"words": [1]}', "application/json", 400),
        (b'{"words": []}', "application/json", 400),
        (b'{"words": ["word1"], "more": 1}', "application/json", 400),
        (b'{"words": ["word1"], "model": -1}', "application/json", 400),
        (b'{"words": ["word1"], "t": NaN}', "application/json", 400),
        (b'{"words": ["word1"], "space": "other"}', "application/json", 400),
        (b'{"words": ["%s"]}' % (b"a" * 201), "application/json", 400),
        (b'{"words": ["nowhere"]}', "application/json", 404),
        (b'{"words": ["word1"], "model": 7}', "application/json", 404),
        (b'{"words": ["word1"], "d": 9}', "application/json", 409),
        (b'{"words": ["word1"], "t": 1}', "application/json", 409),
        (b'{"words": ["word1"], "model": 1, "space": "polished"}', "application/json", 409),
        (b'{"words": ["word1"]}', "text/plain", 415),
        (b"words=a", "application/x-www-form-urlencoded", 415),
    ],
)
def test_bodies_are_checked(client: Any, body: bytes, kind: str, expected: int) -> None:
    answer = client.post("/api/vectors", content=body, headers={"Content-Type": kind})
    assert answer.status_code == expected, answer.text
    assert len(answer.json()["error"]) < 400


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/7/words", 404),
        ("/data/nothing", 404),
        ("/data/", 404),
        ("/api/nothing", 404),
        ("/%2e%2e/server.py", 404),
        ("/page/../server.py", 404),
        ("/..%2fwriting.py", 404),
    ],
)  # fmt: skip
def test_bad_requests_get_a_sentence(client: Any, path: str, expected: int) -> None:
    assert status(client, path) == expected


def test_other_methods_are_refused(client: Any) -> None:
    answer = client.delete(ADDRESS)
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


def test_a_failure_of_the_server_is_a_sentence(
    models: list[PageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(questions.Vectors, "answer", fail)
    client = client_of(models)
    asked = {"words": ["word1"]}
    with pytest.raises(ZeroDivisionError):  # the test's client raises it, after the answer
        client.post("/api/vectors", json=asked)
    client._transport.raise_server_exceptions = False
    answer = client.post("/api/vectors", json=asked)
    assert answer.status_code == 500
    assert answer.json()["error"].endswith(".")


def test_long_headers_are_refused(client: Any) -> None:
    assert status(client, X_Long="a" * (MOST_HEADER_BYTES + 1)) == 431
    assert status(client, X_Long="a" * (MOST_HEADER_BYTES // 2)) == 200


def test_too_many_requests_are_refused(models: list[PageModel]) -> None:
    client = client_of(models, limiter=RateLimiter(rate=0.0, burst=3.0))
    for _ in range(9):  # those without a token don't use up the limit of those with one
        assert status(client, Authorization="Bearer guess") == 401
    assert [status(client) for _ in range(5)] == [200, 200, 200, 429, 429]


def test_a_rate_limit_allows_more_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    limiter = RateLimiter(rate=2.0, burst=2.0)
    assert [limiter.allow() for _ in range(3)] == [True, True, False]
    now[0] += 0.5
    assert [limiter.allow() for _ in range(2)] == [True, False]


def test_only_this_machine_can_connect() -> None:
    with listen() as listening:
        assert listening.getsockname()[0] == server.HOST == "127.0.0.1"
        assert listening.proto == socket.IPPROTO_TCP  # without it every answer is 40 ms late
        with pytest.raises(SettingError, match="choose another"):
            listen(listening.getsockname()[1])


def test_a_missing_extra_is_named(models: list[PageModel], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "starlette"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(MissingExtraError, match=r"needs starlette.*qwem\[explore\]"):
        build_app(PageData(models), token=TOKEN, port=PORT)
