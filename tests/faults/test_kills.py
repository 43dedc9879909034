"""A command that is killed at any moment leaves the old result or the new one, and no litter.

The next run of the same command removes what the killed ones left, and ends as if nothing had been.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from faults.artefacts import contents
from faults.effort import KILLS, LONG
from faults.jobs import check_artefacts, name_often, reproduce_tiny, tree
from faults.processes import Child, start, start_command
from paper.families import write_families
from qwem import Model
from qwem.model.naming import read_names, write_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows can't send SIGKILL")


@dataclass(frozen=True)
class Command:
    """A command with its output; `over` says whether it replaces the result of another run."""

    arguments: tuple[str, ...]
    output: str
    over: bool = True


COMMANDS = {
    "encode": Command(("count", "TEXT", "--corpus", "OUT/corpus"), "corpus"),
    "count": Command(("count", "TEXT", "-o", "OUT/counts", "--window", "9"), "counts"),
    "fit": Command(("fit", "TEXT", "-o", "OUT/model", "--dim", "30"), "model"),
    "export": Command(("export", "MODEL", "-o", "OUT/vectors.txt"), "vectors.txt"),
    "report": Command(("report", "MODEL", "-o", "OUT/page.html"), "page.html"),
    "train": Command(
        ("train", "TEXT", "-o", "OUT/run", "--dim", "8", "--steps", "60", "--checkpoint-every", "3",
         "--window", "3"), "run", over=False,
    ),
}  # fmt: skip
if LONG:
    COMMANDS["demo"] = Command(("demo", "TEXT", "-o", "OUT/demo"), "demo", over=False)
    COMMANDS["reproduce"] = Command(("reproduce",), "paper", over=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two texts, and a model of each."""
    directory = tmp_path_factory.mktemp("kills")
    text = write_families(directory).read_text()
    for name in ("old", "new"):
        content = text if name == "new" else "\n".join(text.split("\n")[:600])
        (directory / f"{name}.txt").write_text(content)
        model = str(directory / f"{name}-model")
        arguments = ["fit", str(directory / f"{name}.txt"), "-o", model, "--dim", "12"]
        assert start_command(directory / "log", *arguments).wait() == 0
    return directory


def begin(command: Command, place: Path, version: str, output: Path) -> Child:
    """Start a command on the old or the new text."""
    output.mkdir(parents=True, exist_ok=True)
    log = output.with_name(f"{output.name}-work") / "log"
    log.parent.mkdir(exist_ok=True)
    if command.arguments == ("reproduce",):
        return start(log, reproduce_tiny, place, output / command.output)
    names = {"TEXT": str(place / f"{version}.txt"), "MODEL": str(place / f"{version}-model")}
    return start_command(
        log, *(names.get(a, a).replace("OUT", str(output)) for a in command.arguments)
    )


def visible(files: dict[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in files.items() if "/." not in f"/{name}"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("fit", "count") else pytest.mark.slow)
        for name in COMMANDS
    ],
)
def test_a_killed_command_harms_nothing(
    name: str, place: Path, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    command = COMMANDS[name]
    rng = random.Random(name)
    started = time.monotonic()
    assert begin(command, place, "new", tmp_path / "whole").wait() == 0
    duration = time.monotonic() - started
    new = tree(tmp_path / "whole")
    old: dict[str, str] = {}
    work = tmp_path / "work"
    if command.over:
        assert begin(command, place, "old", tmp_path / "before").wait() == 0
        old = tree(tmp_path / "before")
        shutil.copytree(tmp_path / "before", work)
    outcomes = {"old": 0, "new": 0, "part": 0}
    for _ in range(KILLS // len(COMMANDS)):
        child = begin(command, place, "new", work)
        time.sleep(rng.random() * 1.1 * duration)
        number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
        child.send(number)
        status = child.wait()
        assert status in (0, -number, 128 + number), child.said
        if "Exception ignored" not in child.said:
            assert "Traceback" not in child.said, child.said
        left = visible(tree(work))
        check_artefacts(work)
        if command.over:
            assert left in (old, new), f"{name}, {number.name}"
        outcomes["new" if left == new else "old" if left == old else "part"] += 1
        if left == new:
            shutil.rmtree(work)
            if command.over:
                shutil.copytree(tmp_path / "before", work)
    last = begin(command, place, "new", work)
    assert last.wait() == 0, last.said
    assert tree(work) == new, "the next run gives the same result and removes what was left"
    assert not list((tmp_path / "work-work" / "tmp").iterdir())
    kept = ", ".join(f"{count} {what}" for what, count in outcomes.items() if count)
    tally(f"kill {name}", sum(outcomes.values()), f"left: {kept}; the next run ended as usual")


def test_a_name_is_there_or_not(
    place: Path, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    model, work = tmp_path / "model", tmp_path / "work"
    shutil.copytree(place / "new-model", model)
    work.mkdir()
    expected, rng = contents(Model.load(model)), random.Random(0)
    for number in range(KILLS // 4):
        child = start(work / f"log-{number}", name_often, model)
        while "named" not in child.said:
            assert child.process.is_alive(), child.said
            time.sleep(0.01)
        time.sleep(rng.random() / 20)
        child.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        check_artefacts(model)
        assert read_names(model)["closed"][1].startswith("name ")
        assert contents(Model.load(model)) == expected
    write_names(model, {"closed": {1: "last"}})
    assert read_names(model) == {"closed": {1: "last"}}
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]
    tally("kill naming", KILLS // 4, "left: the old names or the new ones")
