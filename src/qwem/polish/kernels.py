"""Compiled loops of `polish`: many small logistic regressions, each for a row of W or of W′.

A row w is fitted against the fixed rows y_j of the other side, in coordinates in which the
curvature of all pairs together is the identity. With z = w·y_j, and x = β + z the logit, a stored
pair with weights C and N adds to the row's loss

    (C + N) (softplus(β + z) − softplus(β)) − C z − N_s z − ½ N_h z²,

This is word2vec's own term, less its value at z = 0, less the parabola that the sums over all pairs
already contain for this pair. C is the count times ``columns[j, 0]``. N, N_s and N_h are products
of ``rows[i, :3]`` and ``columns[j, 1:4]``; β and softplus(β) are sums of ``rows[i, 3:5]`` and
``columns[j, 4:6]``. The sums over all pairs are ½ ``rows[i, 5]`` |w|² + ``rows[i, 6]`` w·constant.
If rows have means μ, ``rows[i, 7]`` (½ |μ_i|² − w·μ_i) is added, which centres that part of the
first term at μ_i.

Reading the y_j takes most of the time, so they may be rounded to 16 bits: y_j is ``columns[j, 6]``
times row j of `other`, which has float32 numbers or, as uint16, the bits of half-precision numbers.
Rows are padded to a multiple of `LANES`. Rows are processed in blocks, and columns in tiles, so
that the y_j of a tile stay in a core's cache while the rows of a block use them. The arithmetic of
a row does not depend on the thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from qwem._internal.kernels import emit_prefetch, exp_of_negative, log_of_one_plus, njit

Array = np.ndarray[Any, Any]

# The compiler may only reorder and fuse sums, which it does in the same way in every run.
_SUMS = {"reassoc", "contract", "nsz"}

LANES = 16
"""Numbers in a vector register; the rows of both sides are padded to a multiple of it."""

PAIRS = 32
"""The number of pairs processed together: their rows fit in the fastest cache."""

SAMPLE = 128
"""The number of pairs from which the curvature of a long row along its gradient is estimated."""

_TOGETHER = 4  # the number of rows y_j multiplied at a time
_AHEAD = 8  # how many pairs ahead the rows y_j are loaded into the cache
_LINE = 64  # bytes that are loaded together
_LARGEST = 14  # the exponent of the largest entry of a row in half precision

_f = np.float32
_ZERO, _HALF, _ONE = _f(0), _f(0.5), _f(1)

_FLOAT, _NUMBER = ir.FloatType(), ir.IntType(32)
_FLOATS, _HALVES = ir.VectorType(_FLOAT, LANES), ir.VectorType(ir.HalfType(), LANES)
_FUSED = ("contract",)


class _Rows:
    """Rows of a C-contiguous array, for reading and writing in an intrinsic."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self._builder = builder
        self._floats = kind.dtype == types.float32
        found = context.make_array(kind)(context, builder, array)
        self.data = found.data
        self.width = cgutils.unpack_tuple(builder, found.shape)[-1]

    def at(self, row: Any) -> Any:
        """Return where a row begins."""
        return self._builder.gep(self.data, [self._builder.mul(row, self.width)])

    def load(self, start: Any, t: Any) -> Any:
        """Return some numbers of a row as a vector of float32."""
        kind = _FLOATS if self._floats else _HALVES
        pointer = self._builder.bitcast(self._builder.gep(start, [t]), kind.as_pointer())
        found = self._builder.load(pointer, align=4 if self._floats else 2)
        return found if self._floats else self._builder.fpext(found, _FLOATS)

    def store(self, values: Any, start: Any, t: Any) -> None:
        """Write a vector of float32 to a row."""
        if not self._floats:
            values = self._builder.fptrunc(values, _HALVES)
        pointer = self._builder.gep(start, [t])
        pointer = self._builder.bitcast(pointer, values.type.as_pointer())
        self._builder.store(values, pointer, align=4 if self._floats else 2)


def _whole(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.cast(builder, value, kind, types.intp)


def _constant(context: Any, value: int) -> Any:
    return context.get_constant(types.intp, value)


def _everywhere(builder: Any, value: Any) -> Any:
    """Return a vector whose entries are all `value`."""
    nothing = ir.Constant(_FLOATS, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_NUMBER, 0))
    zeros = ir.Constant(ir.VectorType(_NUMBER, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, zeros)


def _sums(builder: Any, vectors: list[Any]) -> Any:
    """Return a vector with the sum of the entries of each vector."""

    def neighbours(first: Any, second: Any, size: int) -> Any:
        """Return the sums of neighbouring entries of two vectors, joined."""
        even, odd = (
            ir.Constant(ir.VectorType(_NUMBER, size), list(range(place, 2 * size, 2)))
            for place in (0, 1)
        )
        return builder.fadd(
            builder.shuffle_vector(first, second, even), builder.shuffle_vector(first, second, odd)
        )

    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [neighbours(first, second, LANES) for first, second in pairs]
    (total,), size = vectors, LANES
    while size > _TOGETHER:
        size //= 2
        total = neighbours(total, ir.Constant(total.type, ir.Undefined), size)
    return total


@intrinsic
def _multiply_some(
    typing_context: Any, other: Any, ids: Any, row: Any, k: Any, c: Any, out: Any
) -> Any:
    """Write row[k]·other[ids[c + u]] to out[c + u], for u below `_TOGETHER`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there, numbers, own, result = (
            _Rows(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 2, 5)
        )
        k, first = (_whole(context, builder, signature.args[n], arguments[n]) for n in (3, 4))
        places = [builder.add(first, _constant(context, u)) for u in range(_TOGETHER)]
        starts = [there.at(builder.load(builder.gep(numbers.data, [at]))) for at in places]
        nothing = ir.Constant(_FLOATS, [0.0] * LANES)
        totals = [cgutils.alloca_once(builder, _FLOATS) for _ in starts]
        for total in totals:
            builder.store(nothing, total)
        here = own.at(k)
        step = _constant(context, LANES)
        with cgutils.for_range_slice(builder, _constant(context, 0), own.width, step) as (t, _):
            value = own.load(here, t)
            for start, total in zip(starts, totals, strict=True):
                product = builder.fmul(value, there.load(start, t), flags=_FUSED)
                builder.store(builder.fadd(builder.load(total), product, flags=_FUSED), total)
        sums = _sums(builder, [builder.load(total) for total in totals])
        pointer = builder.gep(result.data, [first])
        builder.store(sums, builder.bitcast(pointer, sums.type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(other, ids, row, k, c, out), generate


@intrinsic
def _prefetch_some(typing_context: Any, other: Any, ids: Any, c: Any) -> Any:
    """Ask the processor to load other[ids[c + u]], for u below `_TOGETHER`, into its cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there, numbers = (_Rows(context, builder, signature.args[n], arguments[n]) for n in (0, 1))
        first = _whole(context, builder, signature.args[2], arguments[2])
        places = [builder.add(first, _constant(context, u)) for u in range(_TOGETHER)]
        starts = [there.at(builder.load(builder.gep(numbers.data, [at]))) for at in places]
        step = _constant(context, 8 * _LINE // signature.args[0].dtype.bitwidth)
        with cgutils.for_range_slice(builder, _constant(context, 0), there.width, step) as (t, _):
            for start in starts:
                emit_prefetch(builder, builder.gep(start, [t]))
        return context.get_dummy_value()

    return types.void(other, ids, c), generate


@intrinsic
def _add_some(
    typing_context: Any, other: Any, ids: Any, by: Any, c: Any, total: Any, k: Any
) -> Any:
    """Add by[c + u] other[ids[c + u]], for u below `_TOGETHER`, to total[k]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there, numbers, factors, sums = (
            _Rows(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 2, 4)
        )
        first, k = (_whole(context, builder, signature.args[n], arguments[n]) for n in (3, 5))
        places = [builder.add(first, _constant(context, u)) for u in range(_TOGETHER)]
        starts = [there.at(builder.load(builder.gep(numbers.data, [at]))) for at in places]
        weights = [
            _everywhere(builder, builder.load(builder.gep(factors.data, [at]))) for at in places
        ]
        here = sums.at(k)
        step = _constant(context, LANES)
        with cgutils.for_range_slice(builder, _constant(context, 0), sums.width, step) as (t, _):
            value = sums.load(here, t)
            for start, weight in zip(starts, weights, strict=True):
                product = builder.fmul(weight, there.load(start, t), flags=_FUSED)
                value = builder.fadd(value, product, flags=_FUSED)
            sums.store(value, here, t)
        return context.get_dummy_value()

    return types.void(other, ids, by, c, total, k), generate


@intrinsic
def _convert_row(typing_context: Any, source: Any, i: Any, by: Any, out: Any, k: Any) -> Any:
    """Write `by` source[i] to out[k]; either may be in half precision."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there, result = (_Rows(context, builder, signature.args[n], arguments[n]) for n in (0, 3))
        i, k = (_whole(context, builder, signature.args[n], arguments[n]) for n in (1, 4))
        weight, start, end = _everywhere(builder, arguments[2]), there.at(i), result.at(k)
        step = _constant(context, LANES)
        with cgutils.for_range_slice(builder, _constant(context, 0), there.width, step) as (t, _):
            result.store(builder.fmul(weight, there.load(start, t)), end, t)
        return context.get_dummy_value()

    return types.void(source, i, types.float32, out, k), generate


@njit(nogil=True, cache=True, error_model="numpy")
def round_rows(rows: Array, rounded: Array, units: Array) -> None:
    """Round each row to half precision, scaled by a power of two so that its largest entry fits."""
    for i in range(rows.shape[0]):
        largest = _ZERO
        for t in range(rows.shape[1]):
            largest = max(largest, abs(rows[i, t]))
        # A float32 power of two is its exponent alone; the inverse has 254 minus that exponent.
        exponent = np.int32(_f(largest).view(np.int32) >> np.int32(23)) - np.int32(_LARGEST)
        exponent = min(max(exponent, np.int32(1)), np.int32(253))
        units[i] = np.int32(exponent << np.int32(23)).view(np.float32)
        inverse = np.int32((np.int32(254) - exponent) << np.int32(23)).view(np.float32)
        _convert_row(rows, i, inverse, rounded, i)


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _slopes(
    products: Any, gathered: Any, count: Any, slopes: Any, curvature: Any, start: Any
) -> Any:
    """Write slope and curvature of `count` pairs; return their loss.

    The curvature is that of the parabola that touches the loss at x and is nowhere below it,
    (C + N) tanh(x/2)/2x (Jaakkola and Jordan 2000), so that no step can overshoot.
    """
    loss = 0.0
    for c in range(count):
        unit = gathered[6, c]
        z = products[c] * unit
        positive, both = gathered[0, c], gathered[0, c] + gathered[1, c]
        slope, curved = gathered[2, c], gathered[3, c]
        x = z + gathered[4, c]
        size = abs(x)
        t = exp_of_negative(-size)
        larger = _ONE / (_ONE + t)  # σ(|x|)
        sigmoid = larger if x >= _ZERO else t * larger
        slopes[c] = unit * (both * sigmoid - positive - slope - curved * z)
        # tanh(x/2)/2x, or its limit ¼ if x is too small to divide by.
        bound = (_ONE - t) * larger / (size + size) if size > _f(1e-3) else _f(0.25)
        curvature[start + c] = unit * unit * (both * bound - curved)
        softplus = max(x, _ZERO) + log_of_one_plus(t)
        loss += np.float64(
            both * (softplus - gathered[5, c]) - (positive + slope + _HALF * curved * z) * z
        )
    return loss


@njit(inline="always")
def _tile_end(indices: Any, start: Any, stop: Any, column: Any) -> Any:
    """Return the first position from `start` to `stop` whose index is at least `column`."""
    if stop == start or indices[stop - 1] < column:
        return stop
    at = start
    while indices[at] < column:
        at += 1
    return at


@njit(inline="always")
def _take_ids(indices: Any, start: Any, count: Any, step: Any, place: Any, ids: Any) -> None:
    """Write the row numbers in `other` of `count` pairs, and of the next ones."""
    last = indices.size - 1
    for c in range(count + _AHEAD + _TOGETHER):
        ids[c] = np.int64(indices[min(start + c, last)]) * step + place


@njit(nogil=True, error_model="numpy", fastmath=_SUMS)
def _add_part(
    block: Any, tiles: Array, pairs: Any, other: Array, rows: Array, columns: Array,
    here: Array, gradient: Array, losses: Array, curvature: Array, base: Any,
) -> None:  # fmt: skip
    """Add the loss and the gradient of some rows' pairs of one kind; write their curvature."""
    first, place, step, other_place, other_step = block
    indptr, indices, counts = pairs
    at = indptr[first : first + here.shape[0] + 1].copy()
    ids = np.empty(PAIRS + _AHEAD + _TOGETHER, np.int64)
    products, slopes = np.empty(PAIRS, np.float32), np.empty(PAIRS, np.float32)
    gathered = np.empty((7, PAIRS), np.float32)
    for tile in range(1, tiles.size):
        for r in range(here.shape[0]):
            i = place + step * r
            stop = _tile_end(indices, at[r], indptr[first + r + 1], tiles[tile])
            for start in range(at[r], stop, PAIRS):
                count = min(PAIRS, stop - start)
                _take_ids(indices, start, count, other_step, other_place, ids)
                for c in range(0, count, _TOGETHER):
                    _prefetch_some(other, ids, c + _AHEAD)
                    _multiply_some(other, ids, here, r, c, products)
                for c in range(count):
                    j = ids[c]
                    gathered[0, c] = _f(counts[start + c]) * columns[j, 0]
                    gathered[1, c] = rows[i, 0] * columns[j, 1]
                    gathered[2, c] = rows[i, 1] * columns[j, 2]
                    gathered[3, c] = rows[i, 2] * columns[j, 3]
                    gathered[4, c] = rows[i, 3] + columns[j, 4]
                    gathered[5, c] = rows[i, 4] + columns[j, 5]
                    gathered[6, c] = columns[j, 6]
                losses[i, 0] += _slopes(products, gathered, count, slopes, curvature, base + start)
                for c in range(count, -(-count // _TOGETHER) * _TOGETHER):
                    slopes[c] = _ZERO
                for c in range(0, count, _TOGETHER):
                    _add_some(other, ids, slopes, c, gradient, r)
            at[r] = stop


@njit(inline="always")
def _weighted_squares(
    other: Any, ids: Any, weights: Any, count: Any, gradient: Any, r: Any, products: Any
) -> Any:
    """Return the sum over `count` pairs of their weights times (gradient[r]·y)²."""
    total = 0.0
    for c in range(count, -(-count // _TOGETHER) * _TOGETHER):
        ids[c], weights[c] = ids[0], _ZERO
    for c in range(0, count, _TOGETHER):
        _prefetch_some(other, ids, min(c + _AHEAD, ids.size - _TOGETHER))
        _multiply_some(other, ids[c:], gradient, r, 0, products)
        for u in range(_TOGETHER):
            total += np.float64(weights[c + u] * products[u] * products[u])
    return total


@njit(nogil=True, error_model="numpy", fastmath=_SUMS)
def _curvature_along(
    row: Any, kind: Any, indptr: Any, indices: Any, layout: Array, other: Array, gradient: Array,
    r: Any, curvature: Array, bases: Array, ids: Array, weights: Array,
) -> Any:  # fmt: skip
    """Return the curvature of a row's pairs along gradient[r]: Σ_c curvature_c (gradient·y_c)².

    In half precision it is estimated for rows of more than `SAMPLE` pairs, from those at which the
    running sum of |curvature| passes one of `SAMPLE` equal steps. So a pair counts in proportion to
    its weight, and frequent and rare columns, which are in this order, have their shares.
    """
    first_part, last_part = (0, len(indices)) if kind < 0 else (kind, kind + 1)
    total, pairs = 0.0, 0
    for part in range(first_part, last_part):
        pairs += indptr[part][row + 1] - indptr[part][row]
        for k in range(indptr[part][row], indptr[part][row + 1]):
            total += abs(curvature[bases[part] + k])
    sampled = other.itemsize == 2 and pairs > SAMPLE
    step = total / SAMPLE
    along, reached, passed, count = 0.0, 0.0, 0.5 * step, 0
    products = np.empty(_TOGETHER, np.float32)
    for part in range(first_part, last_part):
        for k in range(indptr[part][row], indptr[part][row + 1]):
            weight = curvature[bases[part] + k]
            if sampled:
                reached += abs(weight)
                if reached <= passed:
                    continue
                share = step * np.ceil((reached - passed) / step)
                passed += share
                weight = _f(share) if weight > _ZERO else -_f(share)
            ids[count] = np.int64(indices[part][k])
            if kind < 0:
                ids[count] = ids[count] * layout[part, 1] + layout[part, 0]
            weights[count] = weight
            count += 1
            if count == ids.size:
                along += _weighted_squares(other, ids, weights, count, gradient, r, products)
                count = 0
    along += _weighted_squares(other, ids, weights, count, gradient, r, products)
    # Seen pairs seldom lower the curvature; an estimate that they do would make the step too long.
    return max(along, 0.0) if sampled else along


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def solve_blocks(
    cuts: Array, kind: Any, tiles: Array, layout: Array, indptr: Any, indices: Any, counts: Any,
    other: Array, constant: Array, rows: Array, columns: Array, means: Array,
    own: Array, losses: Array,
) -> None:  # fmt: skip
    """Take one step for each of the rows from ``cuts[0]`` to ``cuts[-1]``.

    The step goes along the gradient, ``rows[i, 8]`` times as far as the minimum of the parabola
    that bounds the row's loss from above. The row's loss before the step is written to `losses`,
    and how much lower the parabola is after it: the step lowers the loss by at least that much. In
    half precision the curvature of this parabola is estimated; see `_curvature_along`. The
    rows between two cuts are processed together, tile by tile; a row that is alone, without tiles.
    `tiles` are the columns at which tiles begin, and one past the last.

    The pairs are tuples of CSR matrices, one for each kind of contexts. Context j of kind k is row
    ``layout[k, 0] + layout[k, 1] j`` of its side. If `kind` is −1, rows are words: row i joins the
    rows i of all matrices, and column j of a matrix is that row of `other`. Otherwise rows are
    contexts of that kind: row j of that matrix is that row of `own`, and columns are rows of
    `other`.
    """
    of_words, dim = kind < 0, other.shape[1]
    first_part, last_part = (0, len(indices)) if of_words else (kind, kind + 1)
    start, step = (0, 1) if of_words else (layout[kind, 0], layout[kind, 1])
    one_tile = np.array([0, tiles[-1]], tiles.dtype)
    most_rows, most_pairs = 0, 0
    for number in range(cuts.size - 1):
        count = 0
        for part in range(first_part, last_part):
            count += indptr[part][cuts[number + 1]] - indptr[part][cuts[number]]
        most_rows, most_pairs = (
            max(most_rows, cuts[number + 1] - cuts[number]),
            max(most_pairs, count),
        )
    curvature, bases = np.empty(most_pairs, np.float32), np.empty(len(indices), np.int64)
    ids, weights = np.zeros(SAMPLE, np.int64), np.empty(SAMPLE, np.float32)
    vectors = np.empty((2, most_rows, dim), np.float32)

    for number in range(cuts.size - 1):
        first, last = cuts[number], cuts[number + 1]
        some_tiles = one_tile if last - first == 1 else tiles
        here, gradient = vectors[0, : last - first], vectors[1, : last - first]
        place = start + step * first
        for r in range(last - first):
            i = place + step * r
            square, level = 0.0, 0.0
            for t in range(dim):
                here[r, t] = own[i, t]
                gradient[r, t] = rows[i, 5] * own[i, t] + rows[i, 6] * constant[t]
                square += np.float64(own[i, t] * own[i, t])
                level += np.float64(own[i, t] * constant[t])
            losses[i, 0] = 0.5 * rows[i, 5] * square + rows[i, 6] * level
            if means.shape[0]:
                level = 0.0
                for t in range(dim):
                    gradient[r, t] -= rows[i, 7] * means[i, t]
                    level += np.float64((_HALF * means[i, t] - own[i, t]) * means[i, t])
                losses[i, 0] += rows[i, 7] * level
        base = 0
        for part in range(first_part, last_part):
            pairs = indptr[part], indices[part], counts[part]
            there = (layout[part, 0], layout[part, 1]) if of_words else (0, 1)
            block = first, place, step, there[0], there[1]
            bases[part] = base - indptr[part][first]
            _add_part(
                block, some_tiles, pairs, other, rows, columns, here, gradient, losses, curvature,
                bases[part],
            )  # fmt: skip
            base += indptr[part][last] - indptr[part][first]
        for r in range(last - first):
            i = place + step * r
            square = 0.0
            for t in range(dim):
                square += np.float64(gradient[r, t] * gradient[r, t])
            along = rows[i, 5] * square + _curvature_along(
                first + r, kind, indptr, indices, layout, other, gradient, r, curvature, bases, ids,
                weights,
            )  # fmt: skip
            losses[i, 1] = 0.0
            if along > 0.0:
                relaxation = np.float64(rows[i, 8])
                losses[i, 1] = relaxation * (1.0 - 0.5 * relaxation) * square * square / along
                length = _f(relaxation * square / along)
                for t in range(dim):
                    own[i, t] -= length * gradient[r, t]
