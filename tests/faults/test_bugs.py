"""Tests of the tests: for each promise of docs/reliability.md a bug, which its tests must find.

A bug is a change of one place in a copy of the package. The tests that guard the promise are run on
that copy, and one of them has to fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qwem
from faults.effort import LONG

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(qwem.__file__).parent
TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Bug:
    """A change of the package that breaks a promise, and the tests that have to notice."""

    promise: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


ARTEFACT, FILES, CLI = "_internal/artefact.py", "_internal/files.py", "cli/__init__.py"
ARTEFACT_TESTS, FILES_TESTS = "_internal/test_artefact.py", "_internal/test_files.py"
FAILING = "faults/test_failing_operations.py"
BUGS = {
    "left by the killed": Bug(
        "what a killed command left is removed by the next run",
        FILES,
        '    """Remove what killed processes of this machine left beside `final`."""\n',
        "    return\n",
        (FILES_TESTS, "-k", "killed_processes"),
    ),
    "written in place": Bug(
        "a killed command leaves the old file or the new one",
        FILES,
        "    partial = temporary_name(final)\n    with errors_naming(given, partial):\n",
        "    partial = final\n    with errors_naming(given, partial):\n",
        (FILES_TESTS, "-k", "failed_write"),
    ),
    "removed before": Bug(
        "any single rename that fails leaves the old result or the new one",
        FILES,
        "        check_replaceable(final)\n        if _exchange(partial, final):\n",
        "        shutil.rmtree(final, ignore_errors=True)\n        if False:\n",
        (FAILING, "-k", "save"),
    ),
    "not flushed": Bug(
        "what is put in place is on the disk",
        FILES,
        '                for entry in [*partial.rglob("*"), partial]:\n',
        "                for entry in [partial]:\n",
        (FAILING, "-k", "on_the_disk"),
    ),
    "left by a failure": Bug(
        "a save that fails leaves no temporary file",
        FILES,
        "        finally:\n            shutil.rmtree(partial, ignore_errors=True)\n",
        "        finally:\n            pass\n",
        (FAILING, "-k", "save"),
    ),
    "read errors": Bug(
        "a read that fails is one sentence",
        ARTEFACT,
        "        except (*_WRONG_CONTENTS, OSError, QwemError) as error:\n",
        "        except (*_WRONG_CONTENTS, QwemError) as error:\n",
        (FAILING, "-k", "load"),
    ),
    "digests of files": Bug(
        "a damaged file is refused",
        ARTEFACT,
        "        if digest_of_file(file) != self._files[name][1]:\n",
        "        if False:\n",
        ("faults/test_mutations.py", "-k", "silent"),
    ),
    "digest of the description": Bug(
        "a damaged description is refused",
        ARTEFACT,
        "    if digest != digest_of_fields(fields) or FILES not in fields:\n",
        "    if FILES not in fields:\n",
        ("faults/test_mutations.py", "-k", "silent"),
    ),
    "shapes": Bug(
        "arrays that don't fit together are refused",
        ARTEFACT,
        "        if not fits:\n",
        "        if False:\n",
        ("faults/test_forgeries.py",),
    ),
    "pipes": Bug(
        "only regular files are opened",
        ARTEFACT,
        "    if not stat.S_ISREG(state.st_mode):\n",
        "    if False:\n",
        (ARTEFACT_TESTS, "-k", "pipes"),
    ),
    "one version": Bug(
        "whoever reads gets one whole version",
        ARTEFACT,
        "        if read_description(directory, kind, wait=True) == before:\n",
        "        if True:\n",
        (ARTEFACT_TESTS, "-k", "one_whole_version"),
    ),
    "two updates": Bug(
        "of two updates at once none is lost",
        FILES,
        "                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))\n",
        "",
        (ARTEFACT_TESTS, "-k", "second_update"),
    ),
    "your files": Bug(
        "files that were added to a result are never deleted",
        ARTEFACT,
        "    if strange:\n",
        "    if False:\n",
        (ARTEFACT_TESTS, "-k", "other_files or added"),
    ),
    "umask": Bug(
        "the umask decides the permissions",
        ARTEFACT,
        "    file.chmod(mode)\n",
        "",
        (ARTEFACT_TESTS, "-k", "umask"),
    ),
    "info": Bug(
        "`qwem info` checks every file",
        ARTEFACT,
        "            self.path(name)\n            total += size\n",
        "            total += size\n",
        ("faults/test_mutations.py", "-k", "command_line"),
    ),
    "hostile files": Bug(
        "a file from elsewhere is read, or refused in one sentence",
        FILES,
        "    except UnicodeDecodeError as error:\n",
        "    except ZeroDivisionError as error:\n",
        ("faults/test_fuzzing.py", "-k", "similarity or tasks"),
    ),
    "full disk": Bug(
        "a full disk is one sentence with what to do",
        CLI,
        "    remedy = _REMEDIES.get(error.errno or 0)\n",
        "    remedy = None\n",
        ("faults/test_full_disk.py", "cli/test_failures.py"),
    ),
    "signals": Bug(
        "SIGTERM and SIGHUP end a command as Ctrl-C does",
        CLI,
        '_SIGNALS = ("SIGTERM", "SIGHUP")\n',
        "_SIGNALS = ()\n",
        ("cli/test_failures.py", "-k", "signals"),
    ),
    "living processes": Bug(
        "temporary files of a living process are left alone",
        FILES,
        "            if _is_used(entry, owner):\n",
        "            if False:\n",
        (FILES_TESTS, "-k", "locked or killed"),
    ),
    "no cache": Bug(
        "where compiled code can't be kept, the work is done",
        "_internal/kernels.py",
        "        except Exception as error:\n            _warn_not_cached(str(error))\n",
        "        except ZeroDivisionError as error:\n            _warn_not_cached(str(error))\n",
        ("_internal/test_kernels.py", "-k", "cache"),
    ),
    "counts on a cluster": Bug(
        "counts never wrap",
        "cluster/_counts.py",
        "    if counts.sum(dtype=np.float64) >= 2.0**63:\n",
        "    if False:\n",
        ("cluster/test_counts.py", "-k", "63_bits"),
    ),
    "stopped workers": Bug(
        "a worker that is stopped is given up",
        "cluster/connecting.py",
        '{**_LOCAL, _WORKER_TTL: f"{WORKER_TIMEOUT:.0f}s"}',
        "_LOCAL",
        ("cluster/test_connecting.py", "-k", "stopped"),
    ),
    "documents": Bug(
        "only a document that was added is taken away",
        "model/updating.py",
        "        if self.first_is_whole:\n            return digests_of(corpus)\n",
        "",
        ("model/test_update.py", "-k", "late_word"),
    ),
    "terminal": Bug(
        "control characters of words are escaped",
        "_internal/resources.py",
        '    text = _UNSAFE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text)\n',
        "",
        ("_internal/test_resources.py", "cli/test_failures.py"),
    ),
}
ALWAYS = ("your files", "one version")
"""Bugs that are looked for in every test run."""


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_a_change_of_one_place(name: str) -> None:
    bug = BUGS[name]
    assert (SOURCE / bug.file).read_text("utf-8").count(bug.before) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS if LONG else ALWAYS)
def test_a_bug_is_found(name: str, tmp_path: Path, tally: Callable[[str, int, str], None]) -> None:
    bug = BUGS[name]
    shutil.copytree(SOURCE, tmp_path / "qwem", copy_function=_link)
    file = tmp_path / "qwem" / bug.file
    code = file.read_text("utf-8")
    file.unlink()
    file.write_text(code.replace(bug.before, bug.after), encoding="utf-8")
    files = [str(TESTS / each) if each.endswith(".py") else each for each in bug.tests]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-qxm", "not release", "-p", "no:cacheprovider", *files],
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "QWEM_FAULTS": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )
    failed = 1
    found = run.returncode == failed or run.returncode < 0  # it was ended by a signal
    tally(f"bug: {bug.promise}", 1, "found" if found else "survived")
    assert found, run.stdout[-2000:]


def _link(source: str, copy: str) -> None:
    """Copy a file by a link, so that compiled code is found beside it."""
    try:
        os.link(source, copy)
    except OSError:  # another disk
        shutil.copy2(source, copy)
