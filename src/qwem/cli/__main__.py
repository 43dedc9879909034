"""Run the command line as ``python -m qwem.cli``."""

import sys

from qwem.cli import main

sys.exit(main())
