"""Types of the page: TypeScript's checker finds nothing wrong with what JSDoc says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import qwem

TYPESCRIPT = "typescript@5.9.3"
SOURCE = Path(qwem.__file__).parent


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker of types: one that is installed, or one from the npm registry."""
    installed = shutil.which("tsc")
    if installed is not None:
        return installed
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm to check the types of the page")
    directory = tmp_path_factory.mktemp("npm")
    quiet = ("--no-save", "--no-audit", "--no-fund", "--silent", "--fetch-retries=0")
    try:
        subprocess.run(
            [npm, "install", *quiet, TYPESCRIPT],
            cwd=directory, check=True, timeout=120, capture_output=True,
        )  # fmt: skip
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("the npm registry has no TypeScript for us, to check the types of the page")
    return str(directory / "node_modules" / ".bin" / "tsc")


def test_types_fit_except_where_a_mistake_was_planted(checker: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.js"
    wrong.write_text('import { entry } from "./components/arrays.js";\nentry("a matrix", 0, 0);\n')
    page = SOURCE / "explorer" / "page"
    options = {
        "noEmit": True, "allowJs": True, "checkJs": True, "strict": True, "types": [],
        "target": "es2022", "module": "es2022", "moduleResolution": "bundler",
        "lib": ["es2023", "dom", "dom.iterable"],
        # The components are served as if they were beside the modules of the page.
        "rootDirs": [str(root) for root in (page, SOURCE / "report", tmp_path)],
    }  # fmt: skip
    settings = tmp_path / "tsconfig.json"
    files = [str(page / "main.js"), str(wrong)]
    settings.write_text(json.dumps({"compilerOptions": options, "files": files}))
    result = subprocess.run([checker, "--project", settings], capture_output=True, text=True)
    found = result.stdout.splitlines()
    assert len(found) == 1, result.stdout
    assert "wrong.js(2,7): error TS2345" in found[0]
