"""Security of the server: checks of token, origin, size and rate of requests.

A page of another site that is open in the same browser can send requests to this machine. Four
checks keep it out: it does not know the token; its requests have another Origin; a name that it
points at this machine (DNS rebinding) is another Host; and browsers mark the request as coming from
another site.
"""

from __future__ import annotations

import secrets
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from qwem._internal.resources import require

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Any]
    Send = Callable[[Any], Any]

MOST_BODY_BYTES = 256 << 10
MOST_HEADER_BYTES = 32 << 10
REQUEST_SECONDS = 10.0
"""How long a client may take to send a request."""

MOST_WAITING = 256
"""The number of connections that may wait for the rest of a request."""

REQUESTS_PER_SECOND, BURST = 500.0, 2000.0

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

NO_TOKEN = "Open the full address that qwem explore printed, with the token at its end."


class Refused(Exception):  # noqa: N818  (it is an answer, not a fault of the program)
    """Refused request, with the status and the message of the answer."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class RateLimiter:
    """Limit on requests: a burst, and then a number per second."""

    def __init__(self, rate: float = REQUESTS_PER_SECOND, burst: float = BURST) -> None:
        self._rate, self._burst = rate, burst
        self._left, self._then = burst, time.monotonic()

    def allow(self) -> bool:
        """Return whether one more request is within the limit."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class AuthMiddleware:
    """ASGI middleware that admits only the page's own requests, and bounds them.

    Parameters
    ----------
    app
        The application that answers admitted requests.
    refuse
        Makes the answer to other requests, from a status and a sentence.
    token
        The secret that the address or a cookie must contain.
    port
        The port of the server, which the Host header must name.
    limiter
        The limit on requests with a token; requests without one have a separate limit.
    """

    def __init__(
        self,
        app: Any,
        *,
        refuse: Callable[[int, str], Any],
        token: str,
        port: int,
        limiter: RateLimiter | None = None,
    ) -> None:
        self._app, self._refuse, self._token = app, refuse, token
        self._limiter = RateLimiter() if limiter is None else limiter
        self._limiter_without_token = RateLimiter()
        hosts = ("127.0.0.1", "localhost", "[::1]")
        self._hosts = {f"{host}:{port}" for host in hosts}
        if port == 80:
            self._hosts |= set(hosts)
        self.cookie = f"qwem-token-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            raise RuntimeError(f"The server does not support {scope['type']}.")

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            headers = _headers(scope)
            self._check_origin(scope, headers)
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
            first_visit = scope["path"] == "/" and bool(given)
            known = self._is_token(given[0]) if first_visit else self._has_token(headers)
            if not (self._limiter if known else self._limiter_without_token).allow():
                raise Refused(429, "There were too many requests at once; try again in a second.")
            if not known:
                raise Refused(401, NO_TOKEN)
            if first_visit:
                await self._set_cookie(send_safely)
                return
            bounded_receive = _bounded_body(receive, headers)
        except Refused as refused:
            await self._refuse(refused.status, str(refused))(scope, receive, send_safely)
            return
        await self._app(scope, bounded_receive, send_safely)

    def _check_origin(self, scope: Scope, headers: dict[str, list[str]]) -> None:
        if len(hosts := headers.get("host", [])) != 1 or hosts[0].lower() not in self._hosts:
            raise Refused(403, "This server accepts requests for localhost only.")
        for origin in headers.get("origin", []):
            if origin.lower() not in {f"http://{host}" for host in self._hosts}:
                raise Refused(403, "This request comes from a page of another site.")
        site = headers.get("sec-fetch-site", ["none"])[0]
        opened = scope["path"] == "/" and headers.get("sec-fetch-mode", [""])[0] == "navigate"
        if site not in ("same-origin", "none") and not opened:
            raise Refused(403, "This request comes from a page of another site.")

    async def _set_cookie(self, send: Send) -> None:
        """Answer a first visit: set a cookie, and redirect to the address without the token."""
        cookie = f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode("ascii"))]
        headers.append((b"content-length", b"0"))
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _has_token(self, headers: dict[str, list[str]]) -> bool:
        for value in headers.get("authorization", []):
            scheme, _, given = value.partition(" ")
            return scheme.lower() == "bearer" and self._is_token(given.strip())
        for value in headers.get("cookie", []):
            cookies: SimpleCookie = SimpleCookie()
            try:
                cookies.load(value)
            except CookieError:
                continue
            if self.cookie in cookies and self._is_token(cookies[self.cookie].value):
                return True
        return False

    def _is_token(self, given: str) -> bool:
        # In constant time, so that timing reveals nothing about the token.
        return secrets.compare_digest(
            given.encode("utf-8", "surrogatepass"), self._token.encode("utf-8")
        )


def bounded_protocol() -> Any:
    """Return uvicorn's HTTP protocol with a time limit for incomplete requests.

    Without the limit, clients that never finish their headers would hold connections for ever. If
    too many connections wait, the one that has waited longest is closed.
    """
    h11_impl = require("uvicorn.protocols.http.h11_impl", "explore")
    waiting: dict[Any, None] = {}  # oldest first

    class BoundedProtocol(h11_impl.H11Protocol):  # type: ignore[name-defined, misc]
        _deadline: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_request()

        def data_received(self, data: bytes) -> None:
            self._expect_request()
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._expect_nothing()

        def connection_lost(self, error: Exception | None) -> None:
            self._expect_nothing()
            super().connection_lost(error)

        def _expect_request(self) -> None:
            if self._deadline is None:
                self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)
                waiting[self] = None
            if len(waiting) > MOST_WAITING:
                next(iter(waiting))._give_up()

        def _expect_nothing(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
            waiting.pop(self, None)

        def _give_up(self) -> None:
            self._expect_nothing()
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return BoundedProtocol


def _bounded_body(receive: Receive, headers: dict[str, list[str]]) -> Receive:
    """Return a function that receives the body of a request, and refuses one that is too long."""
    too_large = Refused(413, f"The body has more than {MOST_BODY_BYTES:,} bytes, the limit.")
    for value in headers.get("content-length", []):
        if not value.isdecimal() or int(value) > MOST_BODY_BYTES:
            raise too_large
    read = 0

    async def bounded_receive() -> Any:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > MOST_BODY_BYTES:
                raise too_large
        return message

    return bounded_receive


def _headers(scope: Scope) -> dict[str, list[str]]:
    size = sum(len(name) + len(value) for name, value in scope["headers"])
    if size + len(scope["path"]) + len(scope["query_string"]) > MOST_HEADER_BYTES:
        raise Refused(431, f"The headers have more than {MOST_HEADER_BYTES:,} bytes.")
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found
