"""Results of tasks as files: made once, named for what they are made of, added up in trees."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.arrays import even_cuts
from qwem._internal.artefact import kind_of, load
from qwem._internal.files import remove_directory
from qwem.cluster._tasks import run_all, thread_total
from qwem.corpus import Phrases
from qwem.corpus._files import InputFile
from qwem.corpus.reading import Reading
from qwem.corpus.tokenizer import tokenizer_name
from qwem.errors import ArtefactError, ClusterError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

FAN_IN = 8
"""How many results are added in one task."""
PATIENCE = 10.0
"""Seconds until a file must be visible on other machines."""
_RESULT = re.compile("(shard|joined|words|pairs|phrases|vocabulary|counts|sum|rows)-[0-9a-f]{20}")
_PROBE = re.compile(r"\.probe-[0-9a-f]{16}")


def remove_results(directory: str | os.PathLike[str]) -> None:
    """Remove what this room wrote to a directory, and the directory if that was all."""
    place = Path(directory)
    if not place.exists():
        return
    for entry in place.iterdir():
        if _RESULT.fullmatch(entry.name) and kind_of(entry) is not None:
            shutil.rmtree(entry)
        elif _PROBE.fullmatch(entry.name):  # of a killed run
            entry.unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def require_shared(client: Any, place: Path) -> None:
    """Raise `ClusterError` unless workers see what this process writes to a directory."""
    place.mkdir(parents=True, exist_ok=True)
    probe = place / f".probe-{secrets.token_hex(8)}"
    probe.touch()
    try:
        tasks = [(probe, PATIENCE)] * thread_total(client)
        seen = run_all(client, _sees, tasks, "looking for shared files")
    finally:
        probe.unlink(missing_ok=True)
    if not all(seen):
        with suppress(OSError):  # it has files already
            place.rmdir()
        raise ClusterError(
            f"Workers don't see what is written to {place}, where they exchange files; choose a "
            "directory that all machines of the cluster share, by the same name."
        )


def _sees(file: Path, patience: float) -> bool:
    """Return whether a file is there; other machines' may take a moment to appear."""
    until = time.monotonic() + patience
    while not file.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def add_up(
    client: Any,
    add: Callable[[Sequence[Path], Path], object],
    paths: Sequence[Path],
    place: Path,
    name: str,
) -> Path:
    """Return the sum of results, which are added in a tree.

    ``add(some, output)`` writes the sum of some.
    """
    while len(paths) > 1:
        groups = [paths[start:stop] for start, stop in groups_of(paths)]
        tasks = [
            (add, group, place / f"{name}-{key_of(*(path.name for path in group))}")
            for group in groups
        ]
        paths = run_all(client, _add, tasks, f"adding {name}")
    return paths[0]


def groups_of(paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Return the runs of paths that are added together: at most `FAN_IN` each."""
    cuts = even_cuts(0, len(paths), -(-len(paths) // FAN_IN)).tolist()
    return list(pairwise(cuts))


def once(output: Path, work: Callable[[], object]) -> Path:
    """Do the work unless its output is there already, and return the output's path.

    Outputs are written whole or not at all, under a name that says what they are made of. One that
    was damaged since is made again.
    """
    if not output.exists():
        work()
    elif not _is_whole(output):
        with suppress(FileNotFoundError):
            remove_directory(output)
        work()
    return output


def _is_whole(output: Path) -> bool:
    try:
        kind = kind_of(output)
        return kind is not None and load(output, kind, lambda saved: saved.check() > 0)
    except ArtefactError:
        return False


def key_of(*parts: Any) -> str:
    """Return a name for what is made of these parts by this version."""

    def plain(part: Any) -> Any:
        if isinstance(part, Reading):
            return {**vars(part), "tokenizer": tokenizer_name(part.tokenizer)}
        if isinstance(part, Phrases):
            return [part.firsts, part.seconds, part.passes]
        if isinstance(part, InputFile):
            return [part.state, part.part]
        return str(part)

    text = json.dumps([__version__, *map(plain, parts)], sort_keys=True, default=plain)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def _add(
    add: Callable[[Sequence[Path], Path], object], paths: Sequence[Path], output: Path
) -> Path:
    return once(output, lambda: add(paths, output))
