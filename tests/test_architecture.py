"""Imports follow the plan: which room may import which."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qwem
from small_wiki import small_wiki

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(qwem.__file__).parent
CORRIDOR = ("corpus", "cooccurrence", "target", "spectrum", "embedding")
SIDE_ROOMS = {
    # A side room may import the whole corridor, and of the other side rooms these.
    "evaluation": set(),
    "polish": set(),
    "dynamics": set(),
    "training": {"dynamics", "model"},
    "model": {"dynamics", "polish"},
    "interpretation": {"dynamics", "evaluation", "model"},
    "comparison": {"dynamics", "evaluation", "interpretation", "model", "polish"},
    "pages": {"comparison", "dynamics", "evaluation", "interpretation", "model", "training"},
    "cluster": {"model", "polish"},
    "paper": {"dynamics", "evaluation", "interpretation", "model", "training"},
}
TOP = {"cli"}  # import everything, and nothing imports them
FOREIGN = re.compile(r"cluster|elsewhere|dask", re.IGNORECASE)
EVERYWHERE = {"_internal", "errors", "__init__"}
MOST_FILES_WALKED = 40
"""The files with functions, class bodies or kernels that `qwem fit` runs: what one reads."""
WALK = """
import sys, threading
from pathlib import Path
import qwem
from qwem.cli import main

source, walked = str(Path(qwem.__file__).parent), set()

def look(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(source):
        walked.add(code.co_filename)

threading.setprofile(look)
sys.setprofile(look)
status = main(["fit", sys.argv[1], "-o", sys.argv[2]])
sys.setprofile(None)
for name, module in list(sys.modules.items()):  # compiled code runs unseen
    values = list(vars(module).values()) if name.startswith("qwem.") else ()
    if any(hasattr(value, "py_func") and value.__module__ == name for value in values):
        walked.add(module.__file__)
sys.stderr.write("\\n".join(sorted(walked)))
sys.exit(status)
"""


def rooms() -> list[str]:
    return sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())


def imports_of(room: str) -> Iterator[tuple[str, str]]:
    """Yield (file, imported module) for every import of qwem in a room, lazy ones included."""
    for file in sorted((SOURCE / room).rglob("*.py")):
        yield from ((file.name, module) for module in imports_in(file.read_text("utf-8")))


def imports_in(code: str) -> Iterator[str]:
    """Yield the modules of qwem that code imports; a public name of qwem counts as its module."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "qwem":
                yield from (home_of(alias.name) for alias in node.names)
            elif node.module and node.module.startswith("qwem."):
                yield node.module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name != "qwem", "import what is needed, not all of qwem"
                if alias.name.startswith("qwem."):
                    yield alias.name


def home_of(name: str) -> str:
    """Return the room of a public name of qwem, or the room of that name."""
    if name == "__version__":
        return "qwem.__init__"
    if name in {*rooms(), "errors"}:
        return f"qwem.{name}"
    return ".".join(getattr(qwem, name).__module__.split(".")[:2])


def test_every_room_is_on_the_plan() -> None:
    assert set(rooms()) == {*CORRIDOR, *SIDE_ROOMS, *TOP, "_internal"}


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("from qwem import fit", "qwem.model"),
        ("from qwem import mstar as target", "qwem.target"),
        ("from qwem import dynamics", "qwem.dynamics"),
        ("def f():\n    from qwem import evaluate", "qwem.evaluation"),
        ("import qwem.pages", "qwem.pages"),
        ("from qwem import __version__", "qwem.__init__"),
    ],
)
def test_names_of_the_package_are_imports_of_their_room(line: str, module: str) -> None:
    assert list(imports_in(line)) == [module]


@pytest.mark.parametrize("room", [*CORRIDOR, *SIDE_ROOMS])
def test_a_room_imports_what_it_may(room: str) -> None:
    # `Spectrum.embedding()` and the like return the result of a room further on.
    seen = set(CORRIDOR) if room in SIDE_ROOMS else {*CORRIDOR[: CORRIDOR.index(room)], "embedding"}
    seen |= {room, *EVERYWHERE} | SIDE_ROOMS.get(room, set())
    if room == "embedding":
        seen.add("evaluation")  # gensim's `evaluate_word_pairs` is a method of vectors
    for file, module in imports_of(room):
        assert module.split(".")[1] in seen, f"{room}/{file} imports {module}"


def test_only_the_command_line_imports_the_cluster() -> None:
    importing = {
        room
        for room in rooms()
        for _, module in imports_of(room)
        if module.split(".")[1] == "cluster"
    }
    assert importing <= {"cluster", "cli"}


@pytest.mark.parametrize("room", CORRIDOR)
def test_no_name_of_the_corridor_speaks_of_a_cluster(room: str) -> None:
    for file in sorted((SOURCE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for field in ("name", "id", "attr", "arg"):
                name = str(getattr(node, field, ""))
                assert not FOREIGN.search(name), f"{room}/{file.name} has the name {name}"


def test_every_result_has_the_one_base() -> None:
    """What is shown as text, plain data, data frame or HTML is a `Result`, or a part of one."""
    bases = {}
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                shows = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                names = {ast.unparse(base) for base in node.bases}
                bases[node.name] = (file.name, names, shows & {"to_text", "to_dict", "to_pandas"})
    known = {"Plain", "Result", "ShownTable"}
    while more := {name for name, (_, names, _) in bases.items() if names & known} - known:
        known |= more
    others = {name for name, (_, _, shows) in bases.items() if shows} - known
    assert others <= {"Scale"}, "settings of a run, which are no result"
    assert len(known) > 20


def test_a_fit_can_be_followed_in_a_bounded_number_of_files(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(small_wiki(20)), encoding="utf-8")
    program = [sys.executable, "-c", WALK, str(text), str(tmp_path / "model")]
    run = subprocess.run(program, capture_output=True, text=True, check=True)
    walked = [file for file in run.stderr.splitlines() if file.endswith(".py")]
    assert len(walked) > 30, "the fit was not looked at"
    assert len(walked) <= MOST_FILES_WALKED, "\n".join(walked)
