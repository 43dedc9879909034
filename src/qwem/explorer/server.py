"""Server of the explorer: an ASGI application over the table of routes, on this machine only."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.imports import require
from qwem._internal.resources import return_freed_memory
from qwem.errors import DataError, QwemError, SettingError, UnknownWordError
from qwem.explorer.openapi import description, path_parameters
from qwem.explorer.pages import page_file
from qwem.explorer.parameters import (
    BadRequestError,
    UnsupportedTypeError,
    read_body,
    read_query,
)
from qwem.explorer.routes import ROUTES, Asked, Route, answered, encoded
from qwem.explorer.safety import Bucket, Gate, Refused
from qwem.explorer.work import BusyError, Recent, Workshop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qwem.explorer.models import Explored

HOST = "127.0.0.1"
MOST_HEADER_BYTES = 32 << 10
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedTypeError, 415),
    (BadRequestError, 400),
    (BusyError, 503),
    (UnknownWordError, 404),
    (DataError, 404),
    (SettingError, 409),
    (QwemError, 409),
)
"""The status of the answer to each error, the first that fits."""


def build_app(
    models: Sequence[Explored], *, token: str, port: int, bucket: Bucket | None = None
) -> Any:
    """Return the ASGI application that answers for some models.

    Parameters
    ----------
    models
        What `load_models` returned.
    token
        The secret that requests have to have, in a cookie or as ``Authorization: Bearer``.
    port
        The port of the server, which the Host header of requests has to name.
    bucket
        The limit of requests a second.

    >>> import qwem
    >>> from qwem.explorer import explored
    >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
    >>> app = build_app([explored(model)], token="secret", port=8000)  # for any ASGI server
    """
    applications = require("starlette.applications", "explore")
    routing = require("starlette.routing", "explore")
    responses = require("starlette.responses", "explore")
    exceptions = require("starlette.exceptions", "explore")
    workshop, recent = Workshop(), Recent()
    described = encoded(description())

    def sentence(status: int, text: str) -> Any:
        headers = {"www-authenticate": "Bearer"} if status == 401 else None
        return responses.Response(
            encoded({"error": text}), status, headers=headers, media_type="application/json"
        )

    def endpoint(route: Route) -> Callable[[Any], Any]:
        media = "application/octet-stream" if route.binary else "application/json"

        async def answer(request: Any) -> Any:
            values = read_query(request.scope["query_string"], route.parameters)
            for parameter in path_parameters(route):
                values[parameter.name] = _from_path(request, parameter.name, parameter.read)
            body: dict[str, Any] = {}
            if route.body is not None:
                content_type = request.headers.get("content-type", "")
                body = read_body(content_type, await request.body(), route.body)
            asked = Asked(models, values, body, recent)
            key = (route.path, encoded([values, body])) if route.kept else None
            found = await workshop.answer(key, lambda: answered(route, asked), heavy=route.heavy)
            return responses.Response(found, media_type=media)

        return answer

    async def describe(request: Any) -> Any:
        return responses.Response(described, media_type="application/json")

    async def page(request: Any) -> Any:
        found = page_file(request.path_params.get("name", "index.html"))
        if found is None:
            raise exceptions.HTTPException(404)
        return responses.Response(found.content, media_type=found.media_type)

    async def failed(request: Any, error: Exception) -> Any:
        status = next(status for kind, status in STATUS if isinstance(error, kind))
        return sentence(status, str(error))

    async def refused(request: Any, error: Any) -> Any:
        return sentence(error.status, str(error))

    async def broken(request: Any, error: Exception) -> Any:
        return sentence(500, "The server failed; what happened is in the terminal it runs in.")

    async def not_served(request: Any, error: Any) -> Any:
        if error.status_code == 405:
            answer = sentence(405, f"{request.method} is not for {request.url.path}.")
            answer.headers["allow"] = (error.headers or {}).get("Allow", "GET")
            return answer
        return sentence(error.status_code, f"There is nothing at {request.url.path}.")

    app = applications.Starlette(
        routes=[
            routing.Route("/api/openapi.json", describe),
            *(routing.Route(each.path, endpoint(each), methods=[each.method]) for each in ROUTES),
            routing.Route("/", page),
            routing.Route("/{name:path}", page),
        ],
        exception_handlers={
            QwemError: failed,
            Refused: refused,
            exceptions.HTTPException: not_served,
            Exception: broken,
        },
    )
    return Gate(app, refuse=sentence, token=token, port=port, bucket=bucket)


def listen(port: int = 0) -> socket.socket:
    """Return a socket that listens on this machine only; port 0 is any that is free."""
    # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is said to be TCP;
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


def serve(
    models: Sequence[Explored],
    *,
    port: int = 0,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the explorer on this machine until interrupted.

    Parameters
    ----------
    models
        What `load_models` returned.
    port
        The port to listen on; any that is free by default.
    ready
        Called with the address to open, which has the token, once requests are accepted.
    """
    uvicorn = require("uvicorn", "explore")
    _warm(models)
    return_freed_memory()  # loading takes more than what is kept
    token = secrets.token_urlsafe(24)
    with listen(port) as listening:
        chosen = int(listening.getsockname()[1])
        config = uvicorn.Config(
            build_app(models, token=token, port=chosen),
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            http="h11",  # it bounds the length of an address and its headers
            ws="none",
            limit_concurrency=512,
            timeout_keep_alive=15,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        if ready is not None:
            ready(f"http://{HOST}:{chosen}/?token={token}")
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def _warm(models: Sequence[Explored]) -> None:
    """Ask for neighbours in each space once, so that compiled code is loaded beforehand."""
    for model in models:
        for space in model.spaces.values():
            space.nearest(np.eye(space.dim)[0], space.dials(), 1)


def _from_path(request: Any, name: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(request.path_params[name])
    except BadRequestError as error:
        raise DataError(f"There is nothing at {request.url.path}: {error}") from error
