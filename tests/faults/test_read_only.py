"""A read-only installation and home: kernels are compiled each time, and the work is done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qwem
from faults.effort import LONG

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs permissions of Linux")

KERNEL = (
    "import numpy as np; from qwem.corpus import kernels\n"
    "ids, ends, dropped = np.zeros(1, np.uint32), np.ones(1, np.int64), np.array([True, False])\n"
    "counts = np.array([3, 1]); kernels.subtract_documents(ids, ends, dropped, counts)\n"
    "assert counts.tolist() == [2, 1]"
)
# Root may write everywhere, except where nothing is mounted for writing.
AS_ROOT = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 9
shift
exec "$@"
"""


def test_a_read_only_installation_and_home(
    tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    installation, out = tmp_path / "installation", tmp_path / "out"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(qwem.__file__).parent, installation / "qwem", ignore=ignored)
    out.mkdir()
    (out / "text.txt").write_text("the king and the queen\na cat and a dog\n" * 50)
    fit = ["-m", "qwem.cli", "fit", str(out / "text.txt"), "-o", str(out / "model")]
    command = [sys.executable, "-B", *(fit if LONG else ["-c", KERNEL])]
    if os.geteuid() == 0:
        if shutil.which("unshare") is None:
            pytest.skip("root needs the command unshare to be denied anything")
        command = ["unshare", "-m", "sh", "-c", AS_ROOT, "sh", str(installation), *command]
    else:
        for entry in [*installation.rglob("*"), installation]:
            entry.chmod(0o555 if entry.is_dir() else 0o444)
    # Numba looks for its cache beside the source and below the home.
    path = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installation), "TMPDIR": str(out)}
    done = subprocess.run(
        command,
        env={**path, "HOME": str(installation)},
        cwd=out,
        capture_output=True,
        text=True,
    )
    for entry in [installation, *installation.rglob("*")]:
        if entry.is_dir():
            entry.chmod(0o755)
    if done.returncode == 9:
        pytest.skip(f"this user can't mount anything: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "__pycache__" not in [entry.name for entry in installation.rglob("*")]
    warning = "Compiled code can't be kept on this disk"
    assert done.stderr.count(warning) == 1
    tally("read-only home and source", 1, "done without a cache, with a word about it")
