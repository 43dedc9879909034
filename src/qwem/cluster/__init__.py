"""The same work on a Dask cluster: text in shards, matrices in rows, each where there is room."""

from qwem.cluster._results import remove_results
from qwem.cluster.connecting import connected
from qwem.cluster.counting import count_files
from qwem.cluster.factorizing import factorize
from qwem.cluster.fitting import fit_files
from qwem.cluster.polishing import polish

__all__ = ["connected", "count_files", "factorize", "fit_files", "polish", "remove_results"]
