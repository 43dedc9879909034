"""The stages of a fit on a Dask cluster: text in shards, matrices in blocks of rows."""

from qwem.cluster._tasks import remove_results
from qwem.cluster.connecting import connected
from qwem.cluster.counting import count_files, fit_files

__all__ = ["connected", "count_files", "fit_files", "remove_results"]
