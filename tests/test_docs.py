"""Every code block of the README and the documentation runs, page by page, on a small text.

The blocks of a page run in order, in one namespace and one directory, which holds the files that
the documentation speaks of. `python` blocks are executed; every `qwem` line of an `sh` block goes
through the command line's own `main`. A fit that another page has is made once. Pictures that a
page shows are made by its blocks. Blocks of other kinds show output or contents of files.
"""

from __future__ import annotations

import filecmp
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from blocks import PICTURE, blocks_of, run_python, run_shell, write_files

import qwem
from qwem.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

GENSIM_PAGES = {
    "README.md",
    "docs/how-to/choose-dimension.md",
    "docs/how-to/from-gensim.md",
    "docs/how-to/test-a-concept.md",
    "docs/how-to/where-vectors-go.md",
}
"""Pages that use gensim, or the files of benchmarks that it brings."""
SHOWN = {"bibtex", "text"}
"""Blocks that are to be read, not run."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of the files that the documentation speaks of."""
    directory = tmp_path_factory.mktemp("docs")
    write_files(directory)
    (directory / "pictures").mkdir()
    return directory


class Fits:
    """Models that several pages fit in the same way to the same files, each fitted once."""

    def __init__(self, files: Path, kept: Path) -> None:
        self._files, self._kept = files, kept
        self._fit = qwem.fit
        self._models: dict[str, Any] = {}

    def fit(self, source: Any, *given: Any, **settings: Any) -> Any:
        """Do what `qwem.fit` does."""
        key = repr((source, sorted(settings.items())))
        if given or not self._is_given(source):
            return self._fit(source, *given, **settings)
        if key not in self._models:
            self._models[key] = self._fit(source, **settings)
        return self._models[key]

    def run(self, arguments: list[str]) -> int:
        """Run a command, or copy what the same command wrote before."""
        if arguments[0] != "fit" or not self._is_given(arguments[1]) or "-o" not in arguments:
            return main(arguments)
        output = Path(arguments[arguments.index("-o") + 1])
        kept = self._kept / re.sub(r"\W", "-", shlex.join(arguments))
        if not kept.exists():
            if (failed := main(arguments)) != 0:
                return failed
            shutil.copytree(output, kept)
        elif not output.exists():
            shutil.copytree(kept, output)
        return 0

    def _is_given(self, text: Any) -> bool:
        """Say whether this is one of the files that all pages have, and the page left it alone."""
        if not isinstance(text, str) or not (self._files / text).is_file():
            return False
        return filecmp.cmp(self._files / text, text, shallow=False)


@pytest.fixture(scope="module")
def fits(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Fits:
    return Fits(files, tmp_path_factory.mktemp("fits"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(
    page: Path,
    files: Path,
    fits: Fits,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if str(page.relative_to(ROOT)) in GENSIM_PAGES:
        request.getfixturevalue("gensim")
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(qwem.model.fitting, "fit", fits.fit)
    monkeypatch.setattr(qwem.model, "fit", fits.fit)
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in blocks_of(page):
        where = f"{page.relative_to(ROOT)}, line {block.line}"
        if block.language == "python":
            run_python(block, page, namespace)
        elif block.language == "sh":
            run_shell(block, where, fits.run)
        else:
            assert block.language in SHOWN, f"{where}: a block of {block.language or 'nothing'}"
    for picture in PICTURE.findall(page.read_text("utf-8")):
        assert Path(picture).exists(), f"{page.relative_to(ROOT)} does not draw {picture}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.md")), ids=lambda p: p.stem)
def test_api_pages_have_every_public_name(page: Path) -> None:
    room = import_module(f"qwem.{page.stem}")
    # A function named as its module is documented from inside it: griffe sees the module first.
    shown = re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    named = [path.rpartition(".")[2] for path in shown]
    assert sorted(named) == sorted(room.__all__)


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="the site needs the docs extra")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    # Pictures are drawn by the same blocks that another test runs.
    environment = {**os.environ, "QWEM_PICTURES": "false"}
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "index.html").read_text("utf-8")
    assert not re.findall(r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"', page), (
        "assets are ours"
    )


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    named = set(re.findall(r"[\w./-]+\.md", navigation.partition("nav:")[2]))
    assert pages == named


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
            if "://" not in link and not link.startswith("pictures/"):
                assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
