"""Factorizing on a cluster: the products are the workers', orthogonalization is this process's."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import blocks, cut_evenly
from qwem.cluster.rows import Block, SpreadRows, spread
from qwem.cluster.tasks import thread_total
from qwem.spectrum import factorize as factorize_here
from qwem.target import Target

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem.cluster.rows import Arrays
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
    rest, parts = target.rest, thread_total(client)
    if isinstance(rest, np.ndarray):
        runs = [(rows.start, rows.stop) for rows in blocks(len(rest), most=-(-len(rest) // parts))]
    else:
        runs = cut_evenly(rest.indptr, parts)
    with ExitStack() as files:

        @cache
        def rows() -> SpreadRows:
            return files.enter_context(spread(client, directory, rest, runs))

        known = {each.name: getattr(target, each.name) for each in fields(target)}
        return factorize_here(_SpreadTarget(**known, rows=rows), dim, **options)


@dataclass(frozen=True, eq=False)
class _SpreadTarget(Target):
    """A target whose products are taken by workers."""

    rows: Callable[[], SpreadRows] | None = field(default=None, repr=False)
    """Writes the rows for the workers when it is first called: LAPACK doesn't need them."""

    def times_rest(self, vectors: NDArray[Any]) -> NDArray[Any]:
        assert self.rows is not None
        product = np.empty(vectors.shape, vectors.dtype)
        for rows, found in self.rows().run(_multiply, {"vectors": vectors}):
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
    from qwem._internal.sparse_product import multiply_rows

    indptr, indices, data = (block.arrays[name] for name in ("indptr", "indices", "data"))
    product = np.zeros((len(indptr) - 1, vectors.shape[1]), vectors.dtype)
    multiply_rows(indptr, indices, data, vectors, product)
    return {"product": product}
