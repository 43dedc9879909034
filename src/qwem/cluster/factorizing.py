"""Factorizing on a cluster: workers multiply rows, and this process keeps the basis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from qwem._internal.arrays import blocks, cut_evenly
from qwem.cluster._rows import csr_arrays, send_rows
from qwem.cluster._tasks import thread_total
from qwem.spectrum import factorize as factorize_locally

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem.cluster._rows import Arrays, Block, RowBlocks
    from qwem.spectrum import Spectrum
    from qwem.target import Target


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
    adds in another order.

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
    rest: Any = target.rest
    threads = thread_total(client)
    if isinstance(rest, np.ndarray):
        parts = blocks(len(rest), most=-(-len(rest) // threads))
        runs = [(rows.start, rows.stop) for rows in parts]
    else:
        runs = cut_evenly(rest.indptr, threads)

    def arrays(first: int, last: int) -> Arrays:
        if isinstance(rest, np.ndarray):
            return {"dense": rest[first:last]}
        return csr_arrays(rest, first, last, "entries")

    with send_rows(client, directory, runs, arrays) as rows:
        return factorize_locally(replace(target, rest=RowMatrix(rows, rest.dtype)), dim, **options)


class RowMatrix(LinearOperator):  # type: ignore[misc]
    """A square matrix whose rows are on workers: the arrays ``dense`` or ``entries.…``."""

    def __init__(self, rows: RowBlocks, dtype: np.dtype[Any]) -> None:
        size = rows.runs[-1][-1]
        super().__init__(dtype, (size, size))
        self._rows = rows

    def _matmat(self, vectors: NDArray[Any]) -> NDArray[Any]:
        product = np.empty(vectors.shape, vectors.dtype)
        for rows, found in self._rows.run(_multiply, {"vectors": vectors}):
            product[rows] = found["product"]
        return product


def _multiply(block: Block, sent: Arrays) -> Arrays:
    """Return the rows of a block times the vectors that were sent."""
    vectors = np.array(sent["vectors"])
    if "dense" in block.arrays:
        entries = block.arrays["dense"]
        product = np.empty((len(entries), vectors.shape[1]), vectors.dtype)
        for rows in blocks(*entries.shape):
            np.matmul(entries[rows].astype(vectors.dtype, copy=False), vectors, out=product[rows])
        return {"product": product}
    from qwem._internal.kernels import multiply_rows

    indptr, indices, data = block.csr("entries")
    product = np.zeros((len(indptr) - 1, vectors.shape[1]), vectors.dtype)
    multiply_rows(indptr, indices, data, vectors, product)
    return {"product": product}
