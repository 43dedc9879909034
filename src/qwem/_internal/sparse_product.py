"""Products of sparse matrices and blocks of vectors, on several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from qwem._internal.blocks import for_each, stored_blocks
from qwem._internal.compilation import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

Array = np.ndarray[Any, Any]

LANES = 32
"""How many columns of the dense block are multiplied at once, in vector registers."""

_TILE_ENTRIES = 1 << 20
"""Entries of the dense block in a tile: 4 MB in float32, which fits the cores' shared cache."""


def multiply(matrix: sparse.csr_array[Any], vectors: NDArray[Any]) -> NDArray[Any]:
    """Return matrix @ vectors, in the type of the vectors, the same for any number of threads."""
    product = np.zeros((matrix.shape[0], vectors.shape[1]), vectors.dtype)
    vectors = np.ascontiguousarray(vectors)

    def work(rows: slice) -> None:
        indptr = matrix.indptr[rows.start : rows.stop + 1]
        multiply_rows(indptr, matrix.indices, matrix.data, vectors, product[rows])

    for_each(work, stored_blocks(matrix.indptr))
    return product


@intrinsic
def _add_entries(
    typing_context: Any, indices: Any, data: Any, block: Any,
    start: Any, stop: Any, out: Any, row: Any, first: Any,
) -> Any:  # fmt: skip
    """Add Σ data[k] · block[indices[k], first : first + LANES], over k, to that part of out[row].

    The sum stays in vector registers, which the compiler does not manage by itself; `block` and
    `out` are C-contiguous.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        column_ids, values, rows, _, _, target, _, _ = (
            context.make_array(kind)(context, builder, argument).data
            if isinstance(kind, types.Array)
            else None
            for kind, argument in zip(kinds, arguments, strict=True)
        )
        begin, end, place, offset = (
            context.cast(builder, arguments[k], kinds[k], types.intp) for k in (3, 4, 6, 7)
        )
        shape = context.make_array(kinds[2])(context, builder, arguments[2]).shape
        columns = cgutils.unpack_tuple(builder, shape)[1]
        lane = context.get_data_type(kinds[2].dtype)
        size = kinds[2].dtype.bitwidth // 8
        vector = ir.VectorType(lane, LANES)
        number = ir.IntType(32)
        undefined = ir.Constant(vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(number, LANES), [0] * LANES)

        def lanes_of(array: Any, index: Any) -> Any:
            at = builder.add(builder.mul(index, columns), offset)
            return builder.bitcast(builder.gep(array, [at]), vector.as_pointer())

        total = cgutils.alloca_once(builder, vector)
        result = lanes_of(target, place)
        builder.store(builder.load(result, align=size), total)
        one = context.get_constant(types.intp, 1)
        with cgutils.for_range_slice(builder, begin, end, one) as (entry, _):
            column = builder.load(builder.gep(column_ids, [entry]))
            column = context.cast(builder, column, kinds[0].dtype, types.intp)
            value = builder.load(builder.gep(values, [entry]))
            value = context.cast(builder, value, kinds[1].dtype, kinds[2].dtype)
            spread = builder.insert_element(undefined, value, ir.Constant(number, 0))
            spread = builder.shuffle_vector(spread, undefined, everywhere)
            other = builder.load(lanes_of(rows, column), align=size)
            product = builder.fmul(spread, other, flags=("contract",))
            builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
        builder.store(builder.load(total), result, align=size)
        return context.get_dummy_value()

    return types.void(indices, data, block, start, stop, out, row, first), generate


@njit(nogil=True, cache=True, fastmath={"contract"})
def multiply_rows(indptr: Array, indices: Array, data: Array, block: Array, out: Array) -> None:
    """Add some rows of a sparse matrix times `block` to `out`; `indptr` belongs to the rows.

    Columns, which must be sorted in each row, are taken in tiles: the part of `block` that a tile
    needs stays in the cache while all the rows pass. Bytes read from it decide the time: `LANES`
    numbers of `block` per stored entry, for as many multiplications.
    """
    columns = block.shape[1]
    whole = columns - columns % LANES
    tile = max(1, _TILE_ENTRIES // max(1, columns))
    reached = indptr[:-1].copy()
    for end_of_tile in range(tile, block.shape[0] + tile, tile):
        for i in range(out.shape[0]):
            entry, last = reached[i], indptr[i + 1]
            if entry == last or indices[entry] >= end_of_tile:
                continue
            stop = entry + np.searchsorted(indices[entry:last], end_of_tile)
            for first in range(0, whole, LANES):
                _add_entries(indices, data, block, entry, stop, out, i, first)
            if whole < columns:
                for k in range(entry, stop):
                    value, other = data[k], indices[k]
                    for column in range(whole, columns):
                        out[i, column] += value * block[other, column]
            reached[i] = stop
