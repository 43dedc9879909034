"""The same work on a Dask cluster: text cut into pieces, each counted where there is room."""

from qwem.cluster.connecting import connected
from qwem.cluster.counting import count_files, remove_pieces

__all__ = ["connected", "count_files", "remove_pieces"]
