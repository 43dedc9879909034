"""How much is tried: a little in every test run, far more with ``QWEM_FAULTS=long``.

With ``QWEM_FAULTS=short`` as little is tried as in every test run, and a table is printed too.
"""

from __future__ import annotations

import os

EFFORT = os.environ.get("QWEM_FAULTS", "")
LONG = EFFORT == "long"
KILLS = 100 if LONG else 12
MUTATIONS = 2_000 if LONG else 200
FUZZING_SECONDS = 600
"""How long all loaders are fuzzed, guided by coverage, in a long run."""
SAVES = 300 if LONG else 20
"""How often each of several writers replaces an artefact."""
FORGERIES = None if LONG else 100
"""How many forged artefacts are loaded; all there are if None."""
