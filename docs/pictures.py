"""Hook of MkDocs that draws the pictures of pages by running the pages' own code."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

DOCS = Path(__file__).parent
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
_LOGGER = logging.getLogger("mkdocs.hooks.pictures")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pictures that pages save as ``pictures/NAME.svg`` beside themselves."""
    from mkdocs.structure.files import File

    sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests")]
    from blocks import PICTURE

    for page in [file for file in files if file.src_uri.endswith(".md")]:
        source = Path(str(page.abs_src_path))
        names = PICTURE.findall(source.read_text("utf-8"))
        drawn = draw(source, names) if names and config.extra["pictures"] else {}
        for name in names:
            where = str(Path(page.src_uri).parent / name)
            files.append(File.generated(config, where, content=drawn.get(name, EMPTY)))
    return files


def draw(page: Path, names: list[str]) -> dict[str, str]:
    """Run a page in a directory of its own up to its last picture, and return its pictures."""
    import matplotlib as mpl
    from blocks import blocks_of, run_python, run_shell, write_files

    from qwem.cli import main

    mpl.use("Agg")
    _LOGGER.info("drawing the pictures of %s", page.relative_to(DOCS))
    namespace: dict[str, Any] = {"__name__": page.stem}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()):
        write_files(Path(directory))
        Path(directory, "pictures").mkdir()
        os.chdir(directory)
        try:
            for block in blocks_of(page):
                if block.language == "python":
                    run_python(block, page, namespace)
                elif block.language == "sh":
                    run_shell(block, page.name, main)
                if all(Path(name).exists() for name in names):
                    break
            return {name: Path(name).read_text("utf-8") for name in names}
        finally:
            os.chdir(before)
