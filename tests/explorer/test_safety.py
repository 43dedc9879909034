"""Who is let in, from where, and how much: each line of defence on its own."""

from __future__ import annotations

import secrets
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from explorer.conftest import PORT, TOKEN, client_of
from qwem.errors import MissingExtraError, SettingError
from qwem.explorer import build_app, server
from qwem.explorer.safety import MOST_BODY_BYTES, Bucket
from qwem.explorer.server import listen

if TYPE_CHECKING:
    from qwem.explorer import Explored

ADDRESS = "/api/models"


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
def test_another_token_is_not(client: Any, token: str) -> None:
    assert status(client, Authorization=token) == 401
    assert status(client, "/", Authorization=token) == 401
    assert status(client, "/nothing", Authorization=token) == 401


def test_tokens_are_compared_in_constant_time(
    models: list[Explored], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    real = secrets.compare_digest

    def compare(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return real(first, second)

    monkeypatch.setattr(secrets, "compare_digest", compare)
    assert status(client_of(models), Authorization="Bearer guess") == 401
    assert compared == [(b"guess", TOKEN.encode())]


def test_the_token_of_the_address_becomes_a_cookie(models: list[Explored]) -> None:
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


def test_a_token_in_the_address_is_for_the_page_only(models: list[Explored]) -> None:
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
    for path in (ADDRESS, "/nothing", "/api/models/7/words", "/"):
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
    path = "/api/models/0/axis"
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
        (b'{"positive": ["a"]}', "application/json", 400),
        (b'{"positive": ["a"], "negative": "b"}', "application/json", 400),
        (b'{"positive": ["a"], "negative": [1]}', "application/json", 400),
        (b'{"positive": ["a"], "negative": ["b"], "more": 1}', "application/json", 400),
        (b'{"positive": ["a"], "negative": ["b"]}', "application/json", 404),
        (b'{"positive": ["a"], "negative": ["b"]}', "text/plain", 415),
        (b"positive=a", "application/x-www-form-urlencoded", 415),
    ],
)
def test_bodies_are_checked(client: Any, body: bytes, kind: str, expected: int) -> None:
    answer = client.post("/api/models/0/axis", content=body, headers={"Content-Type": kind})
    assert answer.status_code == expected, answer.text
    assert len(answer.json()["error"]) < 400


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/models/0/neighbours", 400),
        ("/api/models/0/neighbours?word=", 400),
        ("/api/models/0/neighbours?word=word1&word=word2", 400),
        ("/api/models/0/neighbours?word=word1&n=0", 400),
        ("/api/models/0/neighbours?word=word1&n=1e3", 400),
        ("/api/models/0/neighbours?word=word1&n=%EF%BC%91", 400),
        ("/api/models/0/neighbours?word=word1&t=nan", 400),
        ("/api/models/0/neighbours?word=word1&t=1e999", 400),
        ("/api/models/0/neighbours?word=%FF", 400),
        ("/api/models/0/neighbours?word=word1&what=1", 400),
        ("/api/models/0/neighbours?word=" + "a" * 201, 400),
        ("/api/models/0/neighbours?word=word1&d=9", 409),
        ("/api/models/0/neighbours?word=word1&t=1", 409),
        ("/api/models/1/neighbours?word=word1&space=polished", 409),
        ("/api/models/0/neighbours?word=word1&space=other", 400),
        ("/api/models/0/neighbours?word=nowhere", 404),
        ("/api/models/2/words", 404),
        ("/api/models/-1/words", 404),
        ("/api/models/one/words", 404),
        ("/api/models/0/coordinates/9", 409),
        ("/api/models/0/coordinates/0", 404),
        ("/api/models/0/trace", 404),
        ("/api/compare?a=0&b=0", 409),
        ("/api/compare?a=0&b=7", 404),
        ("/api/nothing", 404),
        ("/%2e%2e/server.py", 404),
        ("/page/../server.py", 404),
        ("/components/..%2fwriting.py", 404),
    ],
)  # fmt: skip
def test_bad_requests_get_a_sentence(client: Any, path: str, expected: int) -> None:
    assert status(client, path) == expected


def test_other_methods_are_refused(client: Any) -> None:
    answer = client.delete(ADDRESS)
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


def test_a_failure_of_the_server_is_a_sentence(
    models: list[Explored], monkeypatch: pytest.MonkeyPatch
) -> None:
    from qwem.explorer import words

    def fail(*arguments: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(words, "why_similar", fail)
    client = client_of(models)
    with pytest.raises(ZeroDivisionError):  # the test's client raises it, after the answer
        client.get("/api/models/0/why?a=word1&b=word2")
    client._transport.raise_server_exceptions = False
    assert status(client, "/api/models/0/why?a=word1&b=word2") == 500


def test_too_many_requests_are_refused(models: list[Explored]) -> None:
    client = client_of(models, bucket=Bucket(rate=0.0, burst=3.0))
    assert [status(client) for _ in range(5)] == [200, 200, 200, 429, 429]


def test_a_bucket_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bucket = Bucket(rate=2.0, burst=2.0)
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now[0] += 0.5
    assert [bucket.take() for _ in range(2)] == [True, False]


def test_only_this_machine_can_connect() -> None:
    with listen() as listening:
        assert listening.getsockname()[0] == server.HOST == "127.0.0.1"
        assert listening.proto == socket.IPPROTO_TCP  # without it every answer is 40 ms late
        with pytest.raises(SettingError, match="choose another"):
            listen(listening.getsockname()[1])


def test_a_missing_extra_is_named(models: list[Explored], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "starlette"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(MissingExtraError, match=r"needs starlette.*qwem\[explore\]"):
        build_app(models, token=TOKEN, port=PORT)
