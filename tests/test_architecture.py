"""The house keeps its plan: which room may look into which, and only through its front door."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qwem

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(qwem.__file__).parent
CORRIDOR = ("corpus", "cooccurrence", "target", "spectrum", "embedding")
SIDE_ROOMS = {
    # A side room sees the whole corridor, and of the other side rooms these.
    "evaluation": set(),
    "polish": set(),
    "dynamics": set(),
    "training": {"dynamics"},
    "model": {"dynamics", "polish"},
    "interpretation": {"dynamics", "evaluation", "model"},
    "report": {"dynamics", "evaluation", "interpretation", "model"},
    "figures": {"dynamics", "evaluation", "interpretation", "training"},
}
TOP = {"cli", "recipes"}  # see everything, and nothing sees them
EVERYWHERE = {"_internal", "errors", "__init__"}


def rooms() -> list[str]:
    return sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())


def imports_of(room: str) -> Iterator[tuple[str, str]]:
    """Yield (file, imported module) for every import of qwem in a room, lazy ones included."""
    for file in sorted((SOURCE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            yield from (
                (file.name, name) for name in names if name == "qwem" or name.startswith("qwem.")
            )


def test_every_room_is_on_the_plan() -> None:
    assert set(rooms()) == {*CORRIDOR, *SIDE_ROOMS, *TOP, "_internal"}


@pytest.mark.parametrize("room", [*CORRIDOR, *SIDE_ROOMS])
def test_a_room_sees_what_it_may(room: str) -> None:
    # `Spectrum.embedding()` and its like lead on along the corridor, to the next room's result.
    seen = set(CORRIDOR) if room in SIDE_ROOMS else {*CORRIDOR[: CORRIDOR.index(room)], "embedding"}
    seen |= {room, *EVERYWHERE} | SIDE_ROOMS.get(room, set())
    for file, module in imports_of(room):
        other = module.split(".")[1] if "." in module else "__init__"
        assert other in seen, f"{room}/{file} imports {module}"


@pytest.mark.parametrize("room", rooms())
def test_rooms_are_entered_by_the_front_door(room: str) -> None:
    deeper = [
        f"{room}/{file} imports {module}"
        for file, module in imports_of(room)
        if module.count(".") > 1 and module.split(".")[1] not in {room, "_internal"}
    ]
    assert deeper == []
