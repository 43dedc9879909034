"""Every code block of the README and the documentation runs, page by page, on a small text.

The blocks of a page run in order, in one namespace and one directory, which holds the files that
the documentation speaks of. `python` blocks are executed; every `qwem` line of an `sh` block goes
through the command line's own `main`. Blocks of other kinds show output or contents of files.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import parquet

from qwem.cli import main
from small_wiki import gender_pairs, small_wiki

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {"bibtex", "text"}
"""Blocks that are to be read, not run."""
OTHERS = {"make", "mkdocs", "pip", "python"}
"""Commands that are not ours to test here."""
SMALLER = {
    "10_000": "1_000",
    "(dim=50)": "(dim=25)",
    "size 10000": "size 1000",
    "enwiki-36M.parquet": "wiki.parquet",
}
"""What the documentation says, and what does for the small text of a test."""


class Block(NamedTuple):
    """A block of code and the line on which it starts."""

    language: str
    code: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    found = list(FENCE.finditer(text))
    assert text.count("```") == 2 * len(found), f"{page} has a fence that isn't seen here"
    for match in found:
        yield Block(match[1], match[2], text.count("\n", 0, match.start(2)))


@pytest.fixture(scope="module")
def files(wiki: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of the files that the documentation speaks of."""
    directory = tmp_path_factory.mktemp("docs")
    shutil.copy(wiki, directory / "wiki.parquet")
    texts = small_wiki()
    speeches = directory / "speeches"
    speeches.mkdir()
    for number, text in enumerate(small_wiki(50, seed=1)):
        (speeches / f"{number}.txt").write_text(text.replace(". ", ".\n"))
    with (directory / "posts.jsonl").open("w") as file:
        file.writelines(json.dumps({"body": text}) + "\n" for text in small_wiki(80, seed=2))
    debates = {
        "text": [f"Immigration. {text}" for text in texts],
        "party": ["D", "R"] * (len(texts) // 2),
        "year": [1990 + number % 7 for number in range(len(texts))],
        "speaker": [number % 40 for number in range(len(texts))],
    }
    parquet.write_table(pa.table(debates), directory / "debates.parquet")
    (directory / "gender.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in gender_pairs()))
    return directory


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(
    page: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.stem}
    for block in blocks_of(page):
        code = block.code
        for said, meant in SMALLER.items():
            code = code.replace(said, meant)
        where = f"{page.relative_to(ROOT)}, line {block.line}"
        if block.language == "python":
            # Empty lines before it make a traceback name the line of the page.
            exec(compile("\n" * block.line + code, str(page), "exec"), namespace)
        elif block.language == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                run_line(shlex.split(line, comments=True), where)
        else:
            assert block.language in SHOWN, f"{where}: a block of {block.language or 'nothing'}"


def run_line(words: list[str], where: str) -> None:
    if words and words[0] not in OTHERS:
        assert words[0] == "qwem", f"{where}: {words[0]} is not a command to run"
        arguments = words[1:]
        with ExitStack() as stack:
            if ">" in arguments:
                *arguments, _, name = arguments
                file = stack.enter_context(Path(name).open("w", encoding="utf-8"))
                stack.enter_context(redirect_stdout(file))
            assert main(arguments) == 0, f"{where}: {shlex.join(words)}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.md")), ids=lambda p: p.stem)
def test_api_pages_have_every_public_name(page: Path) -> None:
    room = import_module(f"qwem.{page.stem}")
    # A function named as its module is documented from inside it: griffe sees the module first.
    shown = re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    named = [path.rpartition(".")[2] for path in shown]
    assert sorted(named) == sorted(room.__all__)


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="the site needs the docs extra")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    named = set(re.findall(r"[\w./-]+\.md", navigation.partition("nav:")[2]))
    assert pages == named


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
