"""What `import qwem` promises: it is light, and every public name is there."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import qwem
from qwem._internal.resources import require
from qwem.errors import MissingExtraError

ROOMS = sorted((Path(__file__).parents[1] / "docs" / "api").glob("*.md"))
MOST_NAMES = 120
MOST_WITHOUT_EXAMPLE = 13


def test_importing_is_light() -> None:
    program = (
        "import qwem, sys; "
        "print(*(m for m in ('jax', 'numba', 'pandas', 'matplotlib', 'pyarrow', 'scipy', 'numpy') "
        "if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split() == []
    assert result.returncode == 0


def test_the_command_line_imports_nothing_heavy_before_it_works() -> None:
    program = (
        "import qwem.cli, sys; "
        "print(*(m for m in ('jax', 'numba', 'pandas', 'matplotlib') if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split() == []
    assert result.returncode == 0


@pytest.mark.parametrize("name", qwem.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(qwem, name) is not None
    assert name in dir(qwem)


def public_names() -> dict[int, tuple[str, object]]:
    """Return all public names, each once, also if a room and the package both have it."""
    modules = [qwem, *(import_module(f"qwem.{page.stem}") for page in ROOMS)]
    named = [(f"{m.__name__}.{name}", getattr(m, name)) for m in modules for name in m.__all__]
    return {id(value): (name, value) for name, value in named}


def test_there_are_few_public_names() -> None:
    assert len(public_names()) <= MOST_NAMES


def test_public_names_have_an_example() -> None:
    lacking = [
        name
        for name, value in public_names().values()
        if callable(value) and not _is_error(value) and ">>>" not in (value.__doc__ or "")
    ]
    assert len(lacking) <= MOST_WITHOUT_EXAMPLE, lacking


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


@pytest.mark.parametrize("room", [page.stem for page in ROOMS])
def test_rooms_are_imported_on_use(room: str) -> None:
    """Every room with an API page is an attribute, without a second import."""
    program = f"import qwem, sys; before = 'qwem.{room}' in sys.modules; qwem.{room}; print(before)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split() == [str(room == "errors")], result.stderr
    assert room in dir(qwem)


def test_only_public_names_are_listed() -> None:
    rooms = {page.stem for page in ROOMS}
    assert {name for name in dir(qwem) if not name.startswith("_")} == {
        *(name for name in qwem.__all__ if not name.startswith("_")),
        *rooms,
    }


def test_training_is_there_without_jax() -> None:
    program = (
        "import sys; sys.modules['jax'] = None; import qwem; print(hasattr(qwem, 'training'))\n"
        "try: qwem.training.train\n"
        "except qwem.QwemError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    present, error = result.stdout.splitlines()
    assert present == "True"
    assert error.endswith("pip install 'qwem[train]'.")


def test_notebooks_show_tables_and_short_lines() -> None:
    texts = ["the king and the queen", "a cat <and> a dog"] * 30
    model = qwem.fit(texts, dim=2, tokenizer=str.split, polish=False)
    for shown in (model, model.wv):
        page = shown._repr_html_()
        assert "<table" in page
        assert "<and>" not in page
    for short in (model, model.spectrum, model.wv, model.vocabulary):
        assert len(repr(short)) < 120


def test_help_and_completion_work_without_extras() -> None:
    program = (
        "import sys, pydoc\n"
        "for name in ('jax', 'matplotlib', 'starlette', 'distributed', 'sklearn', 'usearch'):\n"
        "    sys.modules[name] = None\n"
        "import qwem; print(len(pydoc.render_doc(qwem)), all(hasattr(qwem, n) for n in dir(qwem)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split()[1:] == ["True"], result.stderr


def test_release_files_name_one_version() -> None:
    root = Path(__file__).parents[1]
    assert f"\nversion: {qwem.__version__}\n" in (root / "CITATION.cff").read_text("utf-8")
    newest = re.findall(r"^## (\S+)", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[0]
    assert newest == ("Unreleased" if ".dev" in qwem.__version__ else qwem.__version__)


@pytest.mark.release
def test_the_distributions_install_and_work(tmp_path: Path) -> None:
    """The wheel is made from the source distribution, so that both are complete."""
    root = Path(__file__).parents[1]
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(root)]
    subprocess.run(build, check=True)
    (made,) = tmp_path.glob("*.whl")
    assert len(list(tmp_path.glob("*.tar.gz"))) == 1
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(made)], check=True)
    (tmp_path / "texts.txt").write_text("the king and the queen\na cat and a dog\n" * 30)
    qwem_here = str(python.with_name("qwem"))
    command = [qwem_here, "fit", "texts.txt", "-o", "model", "--dim", "2"]
    subprocess.run(command, check=True, cwd=tmp_path)
    subprocess.run([qwem_here, "report", "model", "-o", "page.html"], check=True, cwd=tmp_path)
    assert "<script" in (tmp_path / "page.html").read_text("utf-8")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'qwem' has no attribute 'word2vec'"):
        qwem.word2vec  # noqa: B018


def test_a_missing_extra_is_named() -> None:
    assert find_spec("no_such_package") is None
    with pytest.raises(MissingExtraError, match=r"pip install 'qwem\[train\]'"):
        require("no_such_package.part", "train")
