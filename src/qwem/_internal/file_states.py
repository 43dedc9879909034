"""Names, sizes and times of files: how a cache tells whether its sources have changed."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


def file_states(paths: Iterable[str | os.PathLike[str]]) -> list[list[Any]]:
    """Return the name, size and modification time of every file that `paths` name.

    A path is a file, a directory (searched recursively) or a pattern. A path that doesn't exist has
    no state; reading it later reports the error.
    """
    given = [
        Path(name)
        for path in paths
        for name in ([path] if Path(path).exists() else glob.glob(str(path)))
    ]
    files = {file for path in given for file in (path.rglob("*") if path.is_dir() else [path])}
    stats = [(str(file.resolve()), file.stat()) for file in sorted(files)]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
