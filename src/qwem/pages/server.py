"""Server of the pages: the data of a file, and answers that a browser can't compute."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import require, return_freed_memory
from qwem.errors import DataError, QwemError, SettingError, UnknownWordError
from qwem.pages.data import PageData, encoded
from qwem.pages.security import (
    MOST_HEADER_BYTES,
    REQUEST_SECONDS,
    AuthMiddleware,
    RateLimiter,
    Refused,
    bounded_protocol,
)
from qwem.pages.writing import TYPES, app_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qwem.pages.models import PageModel

HOST = "127.0.0.1"
QUICK_THREADS, QUICK_QUEUE = 4, 512
HEAVY_THREADS, HEAVY_QUEUE = 2, 16
HEAVY_PARTS = ("relations", "shapes", "scores", "stability", "compare", "distances")
"""Parts that take seconds to make."""


class BusyError(QwemError):
    """Raised if too much work is waiting already."""


STATUS: tuple[tuple[type[Exception], int], ...] = (
    (BusyError, 503),
    (UnknownWordError, 404),
    (DataError, 404),
    (QwemError, 409),
)
"""The status for each error; the first match counts."""


class WorkerPool:
    """Threads for one kind of work, with a bounded queue."""

    def __init__(self, threads: int, queue: int) -> None:
        self._threads, self._most = threads, threads + queue
        self._limiter: Any = None
        self._running: dict[str, asyncio.Future[bytes]] = {}

    async def run_once(self, name: str, work: Callable[[], bytes]) -> bytes:
        """Return what `work` returns; work of the same name that is already running is shared."""
        if name not in self._running:
            self._running[name] = asyncio.ensure_future(self.run(work))
            self._running[name].add_done_callback(lambda _: self._running.pop(name))
        # A client that disconnects must not cancel the work for the others.
        return await asyncio.shield(self._running[name])

    async def run(self, work: Callable[[], bytes]) -> bytes:
        """Return what `work` returns, from a thread; raise `BusyError` if the queue is full."""
        anyio = require("anyio", "explore")
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._threads)
        now = self._limiter.statistics()
        if now.borrowed_tokens + now.tasks_waiting >= self._most:
            raise BusyError("The server has too much to compute at the moment; try again later.")
        found: bytes = await anyio.to_thread.run_sync(work, limiter=self._limiter)
        return found


def build_app(data: PageData, *, token: str, port: int, limiter: RateLimiter | None = None) -> Any:
    """Return the ASGI application that serves the pages of some models.

    Parameters
    ----------
    data
        The data of the pages, with all words.
    token
        The secret that requests must contain, in a cookie or as ``Authorization: Bearer``.
    port
        The port of the server, which the Host header of requests must name.
    limiter
        The limit of requests per second.
    """
    applications = require("starlette.applications", "explore")
    routing = require("starlette.routing", "explore")
    responses = require("starlette.responses", "explore")
    exceptions = require("starlette.exceptions", "explore")
    msgspec = require("msgspec", "explore")
    anyio = require("anyio", "explore")
    from qwem.pages.questions import QUESTIONS, description

    quick, heavy = WorkerPool(QUICK_THREADS, QUICK_QUEUE), WorkerPool(HEAVY_THREADS, HEAVY_QUEUE)

    def error_response(status: int, text: str) -> Any:
        headers = {"www-authenticate": "Bearer"} if status == 401 else None
        return responses.Response(
            encoded({"error": text}), status, headers=headers, media_type="application/json"
        )

    async def page(request: Any) -> Any:
        name = request.path_params.get("name", "index.html")
        found = app_file(name)
        if found is None:
            raise exceptions.HTTPException(404)
        return responses.Response(found, media_type=TYPES[name.rpartition(".")[2]])

    async def part(request: Any) -> Any:
        name = request.path_params["name"]
        found = data.cached(name)
        if found is None:
            pool = heavy if any(each in name for each in HEAVY_PARTS) else quick
            found = await pool.run_once(name, lambda: data.get(name))
        return responses.Response(found, media_type="application/octet-stream")

    async def ask(request: Any) -> Any:
        question = QUESTIONS.get(request.path_params["name"])
        if question is None:
            raise exceptions.HTTPException(404)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "The body must be JSON, with Content-Type: application/json.")
        try:
            with anyio.fail_after(REQUEST_SECONDS):
                body = await request.body()
            asked = msgspec.json.decode(body, type=question)
        except TimeoutError:
            raise Refused(408, "The body did not arrive in time.") from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise Refused(400, f"The body is not as described: {error}.") from error
        pool = heavy if question.heavy else quick
        found = await pool.run(lambda: encoded(asked.answer(data)))
        return responses.Response(found, media_type="application/json")

    async def describe(request: Any) -> Any:
        return responses.Response(encoded(description()), media_type="application/json")

    async def failed(request: Any, error: Exception) -> Any:
        status = next(status for kind, status in STATUS if isinstance(error, kind))
        return error_response(status, str(error))

    async def refused(request: Any, error: Any) -> Any:
        return error_response(error.status, str(error))

    async def broken(request: Any, error: Exception) -> Any:
        return error_response(500, "The server failed; see the terminal in which it runs.")

    async def not_served(request: Any, error: Any) -> Any:
        if error.status_code == 405:
            answer = error_response(405, f"{request.url.path} does not accept {request.method}.")
            answer.headers["allow"] = (error.headers or {}).get("Allow", "GET")
            return answer
        return error_response(error.status_code, f"There is nothing at {request.url.path}.")

    app = applications.Starlette(
        routes=[
            routing.Route("/", page),
            routing.Route("/data/{name:path}", part),
            routing.Route("/api/openapi.json", describe),
            routing.Route("/api/{name}", ask, methods=["POST"]),
            routing.Route("/{name:path}", page),
        ],
        exception_handlers={
            QwemError: failed,
            Refused: refused,
            exceptions.HTTPException: not_served,
            Exception: broken,
        },
    )
    return AuthMiddleware(app, refuse=error_response, token=token, port=port, limiter=limiter)


def listen(port: int = 0) -> socket.socket:
    """Return a socket that listens on this machine only; port 0 means any free port."""
    # asyncio sends small answers at once (TCP_NODELAY) only if the protocol is named as TCP;
    # otherwise each waits 40 ms for an acknowledgement.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        raise SettingError(
            f"Port {port} can't be used ({error}); choose another, or leave it out."
        ) from error
    return listening


def make_server(app: Any) -> Any:
    """Return a uvicorn server of an application, with bounded requests."""
    uvicorn = require("uvicorn", "explore")
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            http=bounded_protocol(),
            ws="none",
            limit_concurrency=512,
            timeout_keep_alive=15,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            timeout_graceful_shutdown=1,
        )
    )
    logging.getLogger("uvicorn.error").addFilter(_is_not_shutdown)
    return server


def _is_not_shutdown(record: logging.LogRecord) -> bool:
    """Return whether to log a record; those about requests cut short by shutdown are dropped."""
    cancelled = record.exc_info is not None and isinstance(
        record.exc_info[1], asyncio.CancelledError
    )
    return not cancelled and "graceful shutdown" not in record.getMessage()


def serve(
    models: Sequence[PageModel],
    *,
    port: int = 0,
    ready: Callable[[str], None] | None = None,
    **options: Any,
) -> None:
    """Serve the pages of models on this machine until interrupted.

    Parameters
    ----------
    models
        What `load_models` returned.
    port
        The port to listen on; by default any free one.
    ready
        Called with the address to open, including the token, once requests are accepted.
    options
        As for `write_page`.
    """
    require("starlette.applications", "explore")
    data = PageData(models, **options)
    data.get("page")
    return_freed_memory()  # loading needs more than what is kept
    token = secrets.token_urlsafe(24)
    with listen(port) as listening:
        chosen = int(listening.getsockname()[1])
        server = make_server(build_app(data, token=token, port=chosen))
        if ready is not None:
            ready(f"http://{HOST}:{chosen}/?token={token}")
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
