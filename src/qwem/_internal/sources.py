"""What files are, as far as can be seen without reading them: what a cache goes by."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


def file_states(paths: Iterable[str | os.PathLike[str]]) -> list[list[Any]]:
    """Return name, size and time of change of files, of those in directories, and of patterns.

    What doesn't exist has no state; reading it will say so.
    """
    given = [
        Path(name)
        for path in paths
        for name in ([path] if Path(path).exists() else glob.glob(str(path)))
    ]
    files = {file for path in given for file in (path.rglob("*") if path.is_dir() else [path])}
    stats = [(str(file.resolve()), file.stat()) for file in sorted(files)]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
