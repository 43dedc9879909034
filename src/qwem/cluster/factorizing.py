"""Factorizing on a cluster: the products are the workers', orthogonalization is this process's."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import blocks, cut_evenly
from qwem.cluster._rows import Block, SpreadRows, spread
from qwem.cluster._tasks import thread_total
from qwem.spectrum import factorize as factorize_here
from qwem.target import EntriesElsewhere, Target

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy import sparse

    from qwem.cluster._rows import Arrays
    from qwem.spectrum import Spectrum


def factorize(
    client: Any,
    target: Target,
    directory: str | os.PathLike[str],
    dim: int = 200,
    **options: Any,
) -> Spectrum:
    """Return the leading eigenpairs of a target, multiplied on a cluster.

    Rows of the target are files that workers map, and a product is one task per thread of the
    cluster. A block of vectors travels to the workers and its image back; the basis stays here.
    Where the target is sparse, the eigenpairs have the bits of `qwem.factorize`, provided that all
    machines have the same kind of processor. Where it is dense, they agree to rounding, since BLAS
    adds in another order. A matrix that is small enough for LAPACK is solved here.

    Parameters
    ----------
    client
        A `dask.distributed.Client`; see `connected`.
    target
        What to factorize.
    directory
        Where the rows are kept meanwhile, which every worker can reach.
    dim
        How many eigenpairs.
    options
        Any other argument of `qwem.factorize`.
    """
    rest = target.rest
    if isinstance(rest, EntriesElsewhere):  # on the workers already
        return factorize_here(target, dim, **options)
    parts = thread_total(client)
    if isinstance(rest, np.ndarray):
        runs = [(rows.start, rows.stop) for rows in blocks(len(rest), most=-(-len(rest) // parts))]
    else:
        runs = cut_evenly(rest.indptr, parts)
    with ExitStack() as files:

        @cache  # written when it is first multiplied: LAPACK doesn't need it
        def rows() -> SpreadRows:
            return files.enter_context(spread(client, directory, rest, runs))

        entries = SentEntries(rest, rows)
        return factorize_here(replace(target, rest=entries), dim, **options)


class SpreadEntries(EntriesElsewhere):
    """The entries of a target on workers: the array ``dense`` or ``entries`` of blocks of rows."""

    def __init__(
        self, rows: Callable[[], SpreadRows], dtype: np.dtype[Any], *, dense: bool, nbytes: int
    ) -> None:
        self.dtype = dtype
        self.is_dense = dense
        self.nbytes = nbytes
        self._rows = rows

    def __matmul__(self, vectors: NDArray[Any]) -> NDArray[Any]:
        product = np.empty(vectors.shape, vectors.dtype)
        for rows, found in self._rows().run(_multiply, {"vectors": vectors}):
            product[rows] = found["product"]
        return product

    def toarray(self) -> NDArray[Any]:
        """Return the whole matrix."""
        rows = self._rows()
        size = rows.runs[-1][-1]
        entries = np.zeros((size, size), self.dtype)
        if self.is_dense:
            for run, block in zip(rows.runs, rows.arrays("dense"), strict=True):
                entries[slice(*run)] = block
            return entries
        parts = (rows.arrays(name) for name in ("indptr", "indices", "entries"))
        for (first, _), indptr, indices, data in zip(rows.runs, *parts, strict=True):
            lengths = np.diff(indptr)
            entries[np.repeat(first + np.arange(lengths.size), lengths), indices] = data
        return entries


class SentEntries(SpreadEntries):
    """The entries of a target of this process, which are sent to workers when they are needed."""

    def __init__(
        self, rest: NDArray[Any] | sparse.csr_array[Any], rows: Callable[[], SpreadRows]
    ) -> None:
        dense = isinstance(rest, np.ndarray)
        nbytes = rest.nbytes if isinstance(rest, np.ndarray) else rest.data.nbytes
        super().__init__(rows, rest.dtype, dense=dense, nbytes=nbytes)
        self._rest = rest

    def toarray(self) -> NDArray[Any]:
        """Return the whole matrix."""
        if isinstance(self._rest, np.ndarray):
            return self._rest.copy()
        entries: NDArray[Any] = self._rest.toarray()
        return entries


def _multiply(block: Block, sent: Arrays) -> Arrays:
    """Return the rows of a block times the vectors that were sent."""
    vectors = np.array(sent["vectors"])
    if "dense" in block.arrays:
        entries = block.arrays["dense"]
        product = np.empty((len(entries), vectors.shape[1]), vectors.dtype)
        for rows in blocks(*entries.shape):
            np.matmul(entries[rows].astype(vectors.dtype, copy=False), vectors, out=product[rows])
        return {"product": product}
    from qwem._internal.sparse_product import multiply_rows

    indptr, indices, data = (block.arrays[name] for name in ("indptr", "indices", "entries"))
    product = np.zeros((len(indptr) - 1, vectors.shape[1]), vectors.dtype)
    multiply_rows(indptr, indices, data, vectors, product)
    return {"product": product}
