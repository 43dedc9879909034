"""The pages in one file: the application, its style and its data, for any browser."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from qwem._internal.files import writing_file
from qwem._internal.resources import blas_threads
from qwem.errors import SettingError
from qwem.pages.data import FILE_WORDS, SHARED_WORDS, PageData
from qwem.pages.models import PageModel, page_model

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from qwem.comparison import Stability
    from qwem.embedding import Embedding
    from qwem.model import Model

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_FILE = re.compile(r"[a-z][a-z_]*\.(html|css|js)")
_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async function|function|class|const|let)", re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:async function|function\*?|class|const|let)\s+(\w+)", re.MULTILINE
)
_STYLE = '<link rel="stylesheet" href="style.css">'
_SCRIPT = '<script type="module" src="main.js"></script>'
_TITLE = "<title>What a model of words knows</title>"
_META = '<meta charset="utf-8">'


def write_page(
    models: Model | Stability | Embedding | PageModel | Sequence[PageModel],
    path: str | os.PathLike[str],
    *,
    words: int | None = None,
    **options: Any,
) -> Path:
    """Write the pages of a model to one HTML file that needs no server, and return its path.

    Parameters
    ----------
    models
        A model, a model with replicates, vectors, or what `load_models` returned. Others are
        compared with the first.
    path
        The file to write.
    words
        The number of words of each model in the file, the most frequent ones. Each takes about 500
        bytes. The default is 10,000, or fewer if the file has several models.
    options
        The ``title``; ``results`` by title, from `qwem.comparison` or `read_results`; ``analogies``
        and ``similarity``, benchmarks to score the vectors on, as in
        `qwem.evaluation.evaluate_available`; ``tasks``, pairs of words whose relations are tested.

    >>> import tempfile, qwem
    >>> model = qwem.fit(["the king and the queen"] * 9 + ["a cat and a dog"] * 9, dim=2)
    >>> page = write_page(model, tempfile.mkdtemp() + "/page.html", title="Cats")
    >>> page.read_text("utf-8").startswith("<!doctype html>")
    True
    """
    given = models if isinstance(models, list | tuple) else [cast("Model", models)]
    several = [page_model(each) for each in given]
    if words is None:
        words = min(FILE_WORDS, SHARED_WORDS // max(1, len(several)))
    if words < 1:
        raise SettingError(f"words must be at least 1, not {words}.")
    page = assemble_page(PageData(several, words=words, **options))
    with writing_file(path) as file:
        file.write(page.encode("utf-8"))
    return Path(path)


def app_file(name: str) -> bytes | None:
    """Return a file of the application, or None if there is no such file.

    >>> app_file("../server.py") is None
    True
    """
    place = files("qwem.pages").joinpath("app", name)
    return place.read_bytes() if _FILE.fullmatch(name) and place.is_file() else None


def assemble_page(data: PageData) -> str:
    """Return the page with its style, its modules and its data inside.

    Data is compressed. The Content Security Policy allows the script and the style by their
    checksums and nothing else. So no word can run as a script, whatever it contains, and nothing
    can be fetched or sent.
    """
    page, style, script = _text("index.html"), _text("style.css"), join_modules("main.js")
    policy = (
        f"default-src 'none'; script-src {_checksum(script)}; style-src {_checksum(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    with blas_threads(1):  # most products are too small for threads to help
        packed = {name: _base64(zlib.compress(data.get(name))) for name in data.names()}
    parts = "".join(
        f'<script type="text/plain" id="part-{name}">{content}</script>\n'
        for name, content in packed.items()
    )
    for before, after in (
        (_TITLE, f"<title>{escape(data.title)}</title>"),
        (_META, f'{_META}\n<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        (_STYLE, f"<style>{style}</style>"),
        (_SCRIPT, f'{parts}<script type="module">{script}</script>'),
    ):
        if before not in page:
            raise ValueError(f"index.html has no {before}.")
        page = page.replace(before, after, 1)
    return page


def join_modules(entry: str) -> str:
    """Return a module of the application and all that it imports as one script.

    Each module comes after those that it imports, without its imports and exports. Therefore
    modules must import by name (``import { a, b } from "./other.js";``), and no two of them may
    declare the same name at their top level.

    >>> print(join_modules("theme.js")[:25])
    // Light and dark colours
    """
    texts: dict[str, str] = {}

    def visit(name: str) -> None:
        text = _text(name)
        for other in _IMPORT.findall(text):
            if other not in texts:
                visit(other)
        texts[name] = text

    visit(entry)
    homes: dict[str, str] = {}
    for name, text in texts.items():
        for declared in _DECLARED.findall(text):
            if declared in homes:
                raise ValueError(f"{homes[declared]} and {name} both declare {declared}.")
            homes[declared] = name
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)).strip() for text in texts.values())


def _text(name: str) -> str:
    found = app_file(name)
    if found is None:
        raise ValueError(f"The application has no file {name}.")
    return found.decode("utf-8")


def _checksum(text: str) -> str:
    return f"'sha256-{_base64(hashlib.sha256(text.encode('utf-8')).digest())}'"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
