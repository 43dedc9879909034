"""How much is tried: a little in every test run, more where QWEM_FAULTS=long is set."""

from __future__ import annotations

import os

LONG = os.environ.get("QWEM_FAULTS") == "long"
KILLS = 100 if LONG else 12
MUTATIONS = 2_000 if LONG else 200
FUZZING_SECONDS = 600 if LONG else 0
"""How long loaders are fuzzed after the fixed examples of every test run."""
SAVES = 300 if LONG else 25
"""How often each of several writers replaces an artefact."""
