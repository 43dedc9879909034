"""Coverage-guided fuzzing of one loader, in a process of its own: atheris never returns.

python -m faults.fuzz_loader NAME FILE CORPUS [options of libFuzzer]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import qwem

LOADERS = ("qwem.corpus", "qwem.embedding", "qwem.evaluation", "qwem._internal.files")
"""The modules whose branches guide the fuzzer; compiled ones can't be instrumented."""


def main(name: str, file: Path, options: list[str]) -> None:
    """Fuzz the loader of this name without end, or until an option of libFuzzer says so."""
    import atheris

    package = Path(qwem.__file__).parent
    compiled = [
        ".".join(["qwem", *each.relative_to(package).with_suffix("").parts])
        for each in package.rglob("*.py")
        if "kernels" in str(each)
    ]
    with atheris.instrument_imports(include=list(LOADERS), exclude=compiled):
        from faults.test_fuzzing import SEEDS, refusal
    load = SEEDS[name][0]

    def try_one(data: bytes) -> None:
        file.write_bytes(data)
        assert "\n" not in refusal(load, file)

    warnings.simplefilter("ignore")
    atheris.Setup([sys.argv[0], *options], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
