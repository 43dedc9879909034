"""A real server in a process of its own: its address, its answers, its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import qwem
from pages.conftest import TOKEN, running
from qwem.pages import security
from qwem.pages.security import MOST_HEADER_BYTES
from qwem.pages.server import HOST, listen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from qwem.pages.models import PageModel

CLIENTS = 50


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Any, str]]:
    """Yield the process of ``qwem explore``, its address in parts, and its token."""
    command = [sys.executable, "-m", "qwem.cli", "explore", *arguments, "--no-browser", "--json"]
    source = os.path.dirname(os.path.dirname(qwem.__file__))
    environment = {**os.environ, "PYTHONPATH": source}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            address = urlsplit(json.loads(line)["address"])
            yield process, address, parse_qs(address.query)["token"][0]
        finally:
            process.kill()


def ask_for_relations(port: int, token: str) -> None:
    with closing(http.client.HTTPConnection(HOST, port)) as connection, suppress(OSError):
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("GET", "/data/0/relations", headers=headers)
        with suppress(http.client.HTTPException):
            connection.getresponse().read()


def is_refused(port: int, header: bytes) -> bool:
    """Return whether the server ends a request whose header does not end."""
    with socket.create_connection((HOST, port)) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + header)
            return connection.recv(100).startswith(b"HTTP/1.1 400 ")
        except ConnectionError:  # the server is gone before all was sent
            return True


def test_many_clients_at_once_and_an_orderly_end(saved: Path) -> None:
    with serving(str(saved)) as (process, address, token):
        assert address.hostname == "127.0.0.1"
        assert len(token) >= 32
        failures: list[Any] = []

        def ask() -> None:
            headers = {"Authorization": f"Bearer {token}"}
            with closing(http.client.HTTPConnection("127.0.0.1", address.port)) as connection:
                for path in ("words", "features", "directions-closed", "map"):
                    connection.request("GET", f"/data/0/{path}", headers=headers)
                    answer = connection.getresponse()
                    content = answer.read()
                    if answer.status != 200:
                        failures.append((path, answer.status, content))

        threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        late = threading.Thread(target=ask_for_relations, args=(address.port, token))
        late.start()  # what is computed while the server ends is cut short without a word
        assert is_refused(address.port, b"x" * (MOST_HEADER_BYTES + 1))
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
        late.join()


def test_connections_that_send_half_a_request_are_ended(
    models: list[PageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "REQUEST_SECONDS", 0.2)
    with running(models) as port, socket.create_connection((HOST, port)) as connection:
        connection.settimeout(20)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert connection.recv(100) == b""  # the server closed it


def test_many_half_requests_don_t_keep_others_out(
    models: list[PageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "MOST_WAITING", 5)
    with running(models) as port, ExitStack() as stack:
        halves = [
            stack.enter_context(socket.create_connection((HOST, port), timeout=20))
            for _ in range(20)
        ]
        for half in halves:
            with suppress(OSError):  # the first may be ended before the last begins
                half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        with closing(http.client.HTTPConnection(HOST, port)) as connection:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            connection.request("GET", "/data/0/words", headers=headers)
            assert connection.getresponse().status == 200
        with suppress(ConnectionResetError):  # the one that waited longest was ended
            assert halves[0].recv(100) == b""


def test_a_connection_can_be_used_again_after_a_while(
    models: list[PageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "REQUEST_SECONDS", 0.5)
    with running(models) as port, closing(http.client.HTTPConnection(HOST, port)) as connection:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        for _ in range(3):
            connection.request("GET", "/data/0/words", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200
            answer.read()
            time.sleep(0.1)


def test_a_port_that_is_taken_is_a_sentence(saved: Path) -> None:
    with listen() as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "qwem.cli", "explore", str(saved), "--port", port]
        command.append("--no-browser")
        source = os.path.dirname(os.path.dirname(qwem.__file__))
        result = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}
        )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "choose another" in result.stderr
