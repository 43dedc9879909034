"""The explorer's server: first view, neighbours at any dimension and time, many clients, memory.

    python benchmarks/explorer.py MODEL
    python benchmarks/explorer.py MODEL --export

It starts `qwem explore MODEL` and asks as the page does. The first view is what the page needs for
its first map: the models, the words, and the coordinates on two features. Memory is that of the
server's process, less that of one that has only imported the same modules, beside the size of the
model's files.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import psutil

IMPORTED = """
import sys
import numpy as np
from starlette.testclient import TestClient
from qwem.explorer import build_app
from qwem.explorer.spaces import Space
from qwem import Embedding
import uvicorn, scipy.linalg
space = Space.of_embedding(Embedding(["a", "b"], [[1.0, 0.0], [0.0, 2.0]]), "given", "given")
space.nearest(np.ones(2), space.dials(), 1)
print("ready", flush=True)
sys.stdin.read()
"""


class Client:
    """A connection that is kept open, as a browser's is."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=300)
        self._headers = {"Authorization": f"Bearer {parse_qs(parts.query)['token'][0]}"}

    def get(self, path: str) -> bytes:
        """Return the answer to a request, which must not fail."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
        return content

    def json(self, path: str) -> Any:
        """Return an answer in JSON."""
        return json.loads(self.get(path))


def memory(process: subprocess.Popen[str]) -> float:
    """Return the resident memory of a process in MB."""
    return float(psutil.Process(process.pid).memory_info().rss) / 1e6


def imported_memory() -> float:
    command = [sys.executable, "-c", IMPORTED]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = memory(process)
        process.communicate("")
    return found


def first_view(client: Client) -> None:
    client.json("/api/models")
    client.json("/api/models/0/words")
    client.get("/api/models/0/coordinates/1")
    client.get("/api/models/0/coordinates/2")


def neighbour_times(
    client: Client, words: list[str], facts: Any, count: int
) -> dict[str, list[float]]:
    """Return how long neighbours take: at the end, and at random dimensions and times."""
    rng = random.Random(0)
    closed = next((each for each in facts["spaces"] if each["time"]), None)
    times: dict[str, list[float]] = {"as fitted": [], "any d and t": []}
    for place in range(count):
        word = quote(rng.choice(words))
        paths = {"as fitted": f"/api/models/0/neighbours?word={word}"}
        if closed is not None:
            d, t = rng.randint(2, closed["dim"]), rng.uniform(0.5, 20)
            paths["any d and t"] = f"{paths['as fitted']}&space=closed&d={d}&t={t:.4f}"
        for name, path in paths.items():
            start = time.perf_counter()
            client.get(path)
            if place:  # the first one loads compiled code
                times[name].append(time.perf_counter() - start)
    return times


def crowd(address: str, words: list[str], clients: int, questions: int) -> tuple[int, float]:
    """Return how many requests of many clients at once failed, and how long all took."""
    failures: list[str] = []

    def one(seed: int) -> None:
        rng = random.Random(seed)
        try:
            client = Client(address)
            first_view(client)
            for _ in range(questions):
                client.get(f"/api/models/0/neighbours?word={quote(rng.choice(words))}")
        except (RuntimeError, OSError, http.client.HTTPException) as error:
            failures.append(repr(error))

    start = time.perf_counter()
    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures[:3]:
        print("  failed:", failure)
    return len(failures), time.perf_counter() - start


def measure(model: str, clients: int, questions: int) -> None:
    size = sum(file.stat().st_size for file in Path(model).resolve().rglob("*") if file.is_file())
    bare = imported_memory()
    command = [sys.executable, "-m", "qwem.cli", "explore", model, "--no-browser", "--json"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        print(f"{'server ready after':<34}{time.perf_counter() - start:9.2f} s")
        loaded = memory(process)
        client = Client(address)
        facts = client.json("/api/models")["models"][0]
        print(f"{'words × dimensions':<34}{facts['words']:>9,} × {facts['spaces'][0]['dim']}")
        start = time.perf_counter()
        first_view(client)
        print(f"{'data of the first view':<34}{1e3 * (time.perf_counter() - start):9.1f} ms")
        words = client.json("/api/models/0/words")["words"][:20_000]
        cpu = psutil.Process(process.pid).cpu_times()
        for name, times in neighbour_times(client, words, facts, 101).items():
            if times:
                middle, late = (1e3 * sorted(times)[int(q * len(times))] for q in (0.5, 0.95))
                label = f"neighbours, {name}"
                print(f"{label:<34}{middle:9.1f} ms (median), {late:.1f} ms (95 %)")
        after = psutil.Process(process.pid).cpu_times()
        used = (after.user + after.system - cpu.user - cpu.system) / 202
        print(f"{'processor time of one':<34}{1e3 * used:9.1f} ms")
        failed, taken = crowd(address, words, clients, questions)
        total = clients * (4 + questions)
        print(
            f"{f'{clients} clients at once':<34}{failed:>9} failed, {total / taken:.0f} answers/s"
        )
        used_memory = memory(process)
        print(
            f"{'memory after loading, at the end':<34}{loaded - bare:9.0f} MB, "
            f"{used_memory - bare:.0f} MB beside {bare:.0f} MB of modules; "
            f"model {size / 1e6:.0f} MB, {(used_memory - bare) / (size / 1e6):.2f} times"
        )
    finally:
        process.terminate()
        process.wait()


def export(model: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "page.html"
        command = [sys.executable, "-m", "qwem.cli", "explore", model, "--export", str(page)]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken = time.perf_counter() - start
        print(f"{'exported page':<34}{page.stat().st_size / 1e6:9.2f} MB in {taken:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--export", action="store_true", help="also export the page")
    options = parser.parse_args()
    measure(options.model, options.clients, options.questions)
    if options.export:
        export(options.model)


if __name__ == "__main__":
    main()
