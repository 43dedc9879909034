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

Reading the y_j takes most of the time, so they may be rounded to 16 bits each: `other` has the y_j
in float32 or, as uint16, in the form of `qwem.polish.sweep.rounded`. Rows are padded to a multiple
of `WIDTH`. Rows are processed in blocks, and columns in tiles, so that the y_j of a tile stay in a
core's cache while the rows of a block use them. The arithmetic of a row does not depend on the
thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from qwem._internal.kernels import (
    EXP_COEFFICIENTS,
    LOG_2,
    LOG_COEFFICIENTS,
    LOWEST,
    emit_prefetch,
    njit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = np.ndarray[Any, Any]

# The compiler may only reorder and fuse sums, which it does in the same way in every run.
_SUMS = {"reassoc", "contract", "nsz"}

LANES = 16
"""Numbers in a vector register."""

WIDTH = 2 * LANES
"""Numbers of a row that are loaded together; the rows of both sides are padded to a multiple."""

FIELDS = 8
"""Numbers in a row of `columns`, padded so that rows can be transposed in registers."""

PAIRS = 32
"""The number of pairs processed together: their rows fit in the fastest cache."""

SAMPLE = 128
"""The number of pairs from which the curvature of a long row along its gradient is estimated."""

_GROUP = 8  # the number of pairs that the estimate may skip together
_TOGETHER = 4  # the number of rows y_j multiplied at a time
_AHEAD = 8  # how many pairs ahead the rows y_j are loaded into the cache
_LINE = 64  # bytes that are loaded together

_f = np.float32
_ZERO, _HALF = _f(0), _f(0.5)

_INDEX, _WHOLE, _FLOAT = ir.IntType(64), ir.IntType(32), ir.FloatType()
_WHOLES, _FLOATS, _DOUBLES = (
    ir.VectorType(each, LANES) for each in (_WHOLE, _FLOAT, ir.DoubleType())
)
_FUSED = ("contract",)


class _Lanes:
    """A vector of float32 in an intrinsic, with the operators of a number."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def _with(self, number: Any) -> Any:
        """Return the value of another vector, or a constant in all lanes."""
        if isinstance(number, _Lanes):
            return number.value
        return ir.Constant(_FLOATS, [float(_f(number))] * LANES)

    def _do(self, name: str, first: Any, second: Any) -> _Lanes:
        emit = getattr(self.builder, name)
        return _Lanes(self.builder, emit(self._with(first), self._with(second), flags=_FUSED))

    def __add__(self, other: Any) -> _Lanes:
        return self._do("fadd", self, other)

    def __sub__(self, other: Any) -> _Lanes:
        return self._do("fsub", self, other)

    def __rsub__(self, other: Any) -> _Lanes:
        return self._do("fsub", other, self)

    def __mul__(self, other: Any) -> _Lanes:
        return self._do("fmul", self, other)

    def __rtruediv__(self, other: Any) -> _Lanes:
        return self._do("fdiv", other, self)

    def __abs__(self) -> _Lanes:
        bits = self.builder.bitcast(self.value, _WHOLES)
        bits = self.builder.and_(bits, ir.Constant(_WHOLES, [0x7FFFFFFF] * LANES))
        return _Lanes(self.builder, self.builder.bitcast(bits, _FLOATS))

    def above(self, number: float | np.float32) -> Any:
        """Return in which lanes the vector is larger than a number."""
        return self.builder.fcmp_ordered(">", self.value, self._with(number))

    def where(self, lanes: Any, other: Any) -> _Lanes:
        """Return the vector in some lanes, and another one in the others."""
        return _Lanes(self.builder, self.builder.select(lanes, self.value, self._with(other)))

    def at_least(self, number: float | np.float32) -> _Lanes:
        """Return the vector, or a number where that is larger."""
        return self.where(self.above(number), number)

    def polynomial(self, coefficients: Sequence[np.float32]) -> _Lanes:
        """Return a polynomial of the vector; the coefficient of the highest power is first."""
        total = self * coefficients[0]
        for each in coefficients[1:-1]:
            total = (total + each) * self
        return total + coefficients[-1]


class _Rows:
    """An array in an intrinsic, whose rows are contiguous."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        found = context.make_array(kind)(context, builder, array)
        self._builder = builder
        self._floats = kind.dtype == types.float32
        self.bits = kind.dtype.bitwidth
        self.data = found.data
        self.width = cgutils.unpack_tuple(builder, found.shape)[-1]

    def row(self, number: Any) -> Any:
        """Return where a row begins."""
        return self._builder.gep(self.data, [self._builder.mul(number, self.width)])

    def at(self, start: Any, t: Any, more: int = 0) -> Any:
        """Return where number t + more after a place is."""
        return self._builder.gep(start, [self._builder.add(t, ir.Constant(_INDEX, more))])

    def number(self, t: Any, more: int = 0) -> Any:
        """Return number t + more of the array."""
        return self._builder.load(self.at(self.data, t, more))

    def vector(self, place: Any, kind: Any = _FLOATS) -> Any:
        """Return the vector at a place."""
        pointer = self._builder.bitcast(place, kind.as_pointer())
        return self._builder.load(pointer, align=self.bits // 8)

    def write(self, vector: Any, place: Any) -> None:
        """Write a vector to a place."""
        pointer = self._builder.bitcast(place, vector.type.as_pointer())
        self._builder.store(vector, pointer, align=self.bits // 8)

    def lanes(self, place: Any) -> _Lanes:
        """Return the `LANES` numbers at a place."""
        return _Lanes(self._builder, self.vector(place))

    def load(self, start: Any, t: Any) -> tuple[_Lanes, _Lanes]:
        """Return the `WIDTH` numbers of a row from t on, which may be rounded."""
        if self._floats:
            return self.lanes(self.at(start, t)), self.lanes(self.at(start, t, LANES))
        both = self.vector(self.at(start, t), _WHOLES)
        first = self._builder.shl(both, ir.Constant(_WHOLES, [16] * LANES))
        first, second = (self._builder.bitcast(each, _FLOATS) for each in (first, both))
        return _Lanes(self._builder, first), _Lanes(self._builder, second)

    def everywhere(self, place: Any) -> _Lanes:
        """Return the number at a place, in all lanes."""
        return _Lanes(self._builder, _everywhere(self._builder, self._builder.load(place), _FLOATS))


def _everywhere(builder: Any, value: Any, kind: Any) -> Any:
    """Return a vector whose entries are all `value`."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_WHOLE, 0))
    return builder.shuffle_vector(first, nothing, _order([0] * LANES))


def _order(lanes: Sequence[int]) -> Any:
    """Return the lanes that a shuffle takes, in order."""
    return ir.Constant(ir.VectorType(_WHOLE, len(lanes)), list(lanes))


def _sums(builder: Any, vectors: list[Any]) -> Any:
    """Return a vector with the sum of the entries of each vector."""

    def neighbours(first: Any, second: Any, size: int) -> Any:
        """Return the sums of neighbouring entries of two vectors, joined."""
        even, odd = (_order(range(place, 2 * size, 2)) for place in (0, 1))
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


def _emitted(emit: Callable[..., None], *kinds: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the type and the generator of an intrinsic whose code `emit` adds.

    The arguments of `emit` are a builder, and for each of `kinds` a whole number or `_Rows`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = (
            _Rows(context, builder, kind, value)
            if isinstance(kind, types.Array)
            else context.cast(builder, value, kind, types.intp)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        emit(builder, *found)
        return context.get_dummy_value()

    return types.void(*kinds), generate


def _steps(builder: Any, width: Any, step: int) -> Any:
    """Return a loop over the places of a row."""
    return cgutils.for_range_slice(
        builder, ir.Constant(_INDEX, 0), width, ir.Constant(_INDEX, step)
    )


@intrinsic
def _multiply_some(
    typing_context: Any, other: Any, ids: Any, row: Any, k: Any, c: Any, out: Any
) -> Any:
    """Write row[k]·other[ids[c + u]] to out[c + u], for u below `_TOGETHER`."""

    def emit(builder: Any, other: Any, ids: Any, row: Any, k: Any, c: Any, out: Any) -> None:
        starts = [other.row(ids.number(c, u)) for u in range(_TOGETHER)]
        totals = [cgutils.alloca_once(builder, _FLOATS) for _ in starts]
        for total in totals:
            builder.store(ir.Constant(_FLOATS, [0.0] * LANES), total)
        here = row.row(k)
        with _steps(builder, row.width, WIDTH) as (t, _):
            values = row.load(here, t)
            for start, total in zip(starts, totals, strict=True):
                first, second = other.load(start, t)
                sums = _Lanes(builder, builder.load(total)) + first * values[0]
                builder.store((sums + second * values[1]).value, total)
        out.write(_sums(builder, [builder.load(total) for total in totals]), out.at(out.data, c))

    return _emitted(emit, other, ids, row, k, c, out)


@intrinsic
def _prefetch_some(typing_context: Any, other: Any, ids: Any, c: Any) -> Any:
    """Ask the processor to load other[ids[c + u]], for u below `_TOGETHER`, into its cache."""

    def emit(builder: Any, other: Any, ids: Any, c: Any) -> None:
        starts = [other.row(ids.number(c, u)) for u in range(_TOGETHER)]
        with _steps(builder, other.width, 8 * _LINE // other.bits) as (t, _):
            for start in starts:
                emit_prefetch(builder, other.at(start, t))

    return _emitted(emit, other, ids, c)


@intrinsic
def _add_some(
    typing_context: Any, other: Any, ids: Any, by: Any, c: Any, total: Any, k: Any
) -> Any:
    """Add by[c + u] other[ids[c + u]], for u below `_TOGETHER`, to total[k]."""

    def emit(builder: Any, other: Any, ids: Any, by: Any, c: Any, total: Any, k: Any) -> None:
        starts = [other.row(ids.number(c, u)) for u in range(_TOGETHER)]
        weights = [by.everywhere(by.at(by.data, c, u)) for u in range(_TOGETHER)]
        here = total.row(k)
        with _steps(builder, total.width, WIDTH) as (t, _):
            sums = list(total.load(here, t))
            for start, weight in zip(starts, weights, strict=True):
                for half, found in enumerate(other.load(start, t)):
                    sums[half] = sums[half] + weight * found
            for half, each in enumerate(sums):
                total.write(each.value, total.at(here, t, half * LANES))

    return _emitted(emit, other, ids, by, c, total, k)


@intrinsic
def _take_ids_at(
    typing_context: Any, indices: Any, start: Any, c: Any, step: Any, place: Any, ids: Any
) -> Any:
    """Write step · indices[start + c + u] + place to ids[c + u], for u below `LANES`."""

    def emit(
        builder: Any, indices: Any, start: Any, c: Any, step: Any, place: Any, ids: Any
    ) -> None:
        kind = ir.VectorType(ir.IntType(indices.bits), LANES)
        found = indices.vector(indices.at(indices.data, builder.add(start, c)), kind)
        wide = ir.VectorType(_INDEX, LANES)
        if indices.bits < _INDEX.width:
            found = builder.sext(found, wide)
        found = builder.mul(found, _everywhere(builder, step, wide))
        found = builder.add(found, _everywhere(builder, place, wide))
        ids.write(found, ids.at(ids.data, c))

    return _emitted(emit, indices, start, c, step, place, ids)


@intrinsic
def _take_fields(typing_context: Any, columns: Any, ids: Any, c: Any, fields: Any) -> Any:
    """Write columns[ids[c + u], f] to fields[f, c + u], for u below `LANES` = 2 `FIELDS`."""

    def emit(builder: Any, columns: Any, ids: Any, c: Any, fields: Any) -> None:
        kind = ir.VectorType(_FLOAT, FIELDS)
        rows = [columns.vector(columns.row(ids.number(c, u)), kind) for u in range(LANES)]
        joined = _order(range(LANES))
        found = [
            builder.shuffle_vector(first, second, joined)
            for first, second in zip(rows[:FIELDS], rows[FIELDS:], strict=True)
        ]
        # Both halves are matrices of FIELDS × FIELDS. To transpose them, their off-diagonal
        # quarters are exchanged, then those of each quarter, and so on.
        for far in (1, 2, 4):
            low = [lane if not lane & far else LANES + lane - far for lane in range(LANES)]
            high = [lane + far if not lane & far else LANES + lane for lane in range(LANES)]
            for f in (f for f in range(FIELDS) if not f & far):
                pair = found[f], found[f + far]
                found[f] = builder.shuffle_vector(*pair, _order(low))
                found[f + far] = builder.shuffle_vector(*pair, _order(high))
        for f, vector in enumerate(found):
            fields.write(vector, fields.at(fields.row(ir.Constant(_INDEX, f)), c))

    return _emitted(emit, columns, ids, c, fields)


@intrinsic
def _take_slopes(
    typing_context: Any, products: Any, seen: Any, fields: Any, rows: Any, i: Any, c: Any,
    count: Any, slopes: Any, curvature: Any, losses: Any,
) -> Any:  # fmt: skip
    """Write slope and curvature of the pairs from c to c + `LANES`; add their losses to `losses`.

    The curvature is that of the parabola that touches the loss at x and is nowhere below it,
    (C + N) tanh(x/2)/2x (Jaakkola and Jordan 2000), so that no step can overshoot. From pair
    `count` on, all of this is zero.
    """

    def emit(
        builder: Any, products: Any, seen: Any, fields: Any, rows: Any, i: Any, c: Any,
        count: Any, slopes: Any, curvature: Any, losses: Any,
    ) -> None:  # fmt: skip
        left = _everywhere(builder, builder.trunc(builder.sub(count, c), _WHOLE), _WHOLES)
        real = builder.icmp_signed("<", _order(range(LANES)), left)
        row = rows.row(i)
        own = [rows.everywhere(rows.at(row, ir.Constant(_INDEX, f))) for f in range(5)]
        column = [fields.lanes(fields.at(fields.row(ir.Constant(_INDEX, f)), c)) for f in range(6)]
        z = products.lanes(products.at(products.data, c))
        positive = (seen.lanes(seen.at(seen.data, c)) * column[0]).where(real, 0.0)
        negative, slope, curved = (
            (own[f] * column[f + 1]).where(real, 0.0) for f in range(3)
        )  # N, N_s, N_h
        both = positive + negative
        x = z + (own[3] + column[4])
        size = abs(x)
        t = _exp_of_minus(size)
        # 1/(1 + t) is σ(|x|). If x is too small to divide by, tanh(x/2)/2x is ¼.
        twice = (size + size).at_least(2e-3)
        inverse = 1.0 / (twice * t + twice)
        larger = twice * inverse
        sigmoid = larger.where(x.above(0.0), t * larger)
        bound = ((1.0 - t) * inverse).where(size.above(1e-3), 0.25)
        softplus = x.at_least(0.0) + t.polynomial((*LOG_COEFFICIENTS, _ZERO))
        loss = both * (softplus - (own[4] + column[5]))
        loss = loss - (positive + slope + curved * z * 0.5) * z
        slopes.write(
            (both * sigmoid - positive - slope - curved * z).value, slopes.at(slopes.data, c)
        )
        curvature.write((both * bound - curved).value, curvature.at(curvature.data, c))
        total = losses.vector(losses.data, _DOUBLES)
        losses.write(builder.fadd(total, builder.fpext(loss.value, _DOUBLES)), losses.data)

    return _emitted(emit, products, seen, fields, rows, i, c, count, slopes, curvature, losses)


def _exp_of_minus(size: _Lanes) -> _Lanes:
    """Return e^−x for x ≥ 0; see `qwem._internal.kernels.exp_of_negative`."""
    builder = size.builder
    x = (0.0 - size).at_least(LOWEST)
    # Made positive, its whole part is its floor.
    shifted = x * LOG_2[0] + 128.5
    whole = builder.fptosi(shifted.value, _WHOLES)
    power = _Lanes(builder, builder.sitofp(whole, _FLOATS)) - 128.0
    r = x - power * LOG_2[1] - power * LOG_2[2]
    # A float32 power of two is its exponent, plus 127, alone.
    bits = builder.sub(whole, ir.Constant(_WHOLES, [1] * LANES))
    bits = builder.shl(bits, ir.Constant(_WHOLES, [23] * LANES))
    two_to_power = _Lanes(builder, builder.bitcast(bits, _FLOATS))
    return (r.polynomial(EXP_COEFFICIENTS) * r * r + r + 1.0) * two_to_power


@njit(inline="always")
def _tile_end(indices: Any, start: Any, stop: Any, column: Any) -> Any:
    """Return the first position from `start` to `stop` whose index is at least `column`."""
    if stop == start or indices[stop - 1] < column:
        return stop
    at = start
    while at + LANES < stop and indices[at + LANES] < column:
        at += LANES
    while indices[at] < column:
        at += 1
    return at


@njit(inline="always")
def _take_ids(indices: Any, start: Any, count: Any, step: Any, place: Any, ids: Any) -> None:
    """Write the row numbers in `other` of `count` pairs, and of the next ones."""
    if start + ids.size <= indices.size:
        for c in range(0, count + _AHEAD + _TOGETHER, LANES):
            _take_ids_at(indices, start, c, step, place, ids)
    else:
        last = indices.size - 1
        for c in range(ids.size):
            ids[c] = np.int64(indices[min(start + c, last)]) * step + place


@njit(nogil=True, error_model="numpy", fastmath=_SUMS)
def _add_part(
    block: Any, tiles: Array, pairs: Any, other: Array, rows: Array, columns: Array,
    here: Array, gradient: Array, losses: Array, curvature: Array, base: Any, buffers: Any,
) -> None:  # fmt: skip
    """Add the loss and the gradient of some rows' pairs of one kind; write their curvature."""
    first, place, step, other_place, other_step = block
    indptr, indices, counts = pairs
    ids, fields, products, seen, slopes, curved, lost = buffers
    at = indptr[first : first + here.shape[0] + 1].copy()
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
                # Numbers without a sign are not taken for places from the end.
                for c in range(count):
                    seen[c] = _f(counts[np.uint64(start) + np.uint64(c)])
                for c in range(0, count, LANES):
                    _take_fields(columns, ids, c, fields)
                    _take_slopes(products, seen, fields, rows, i, c, count, slopes, curved, lost)
                for c in range(count):
                    curvature[np.uint64(base + start) + np.uint64(c)] = curved[c]
                for c in range(0, count, _TOGETHER):
                    _add_some(other, ids, slopes, c, gradient, r)
            at[r] = stop
            for u in range(LANES):
                losses[i, 0] += lost[u]
                lost[u] = 0.0


@njit(inline="always")
def _weighted_squares(
    other: Any, ids: Any, weights: Any, count: Any, gradient: Any, r: Any, products: Any
) -> Any:
    """Return the sum over `count` pairs of their weights times (gradient[r]·y)²."""
    total = 0.0
    for c in range(0, count, _TOGETHER):
        _prefetch_some(other, ids, c + _AHEAD)
        _multiply_some(other, ids, gradient, r, c, products)
    for c in range(count):
        total += np.float64(weights[c] * products[c] * products[c])
    return total


@njit(nogil=True, error_model="numpy", fastmath=_SUMS)
def _curvature_along(
    row: Any, kind: Any, indptr: Any, indices: Any, layout: Array, other: Array, gradient: Array,
    r: Any, curvature: Array, bases: Array, sample: Any,
) -> Any:  # fmt: skip
    """Return the curvature of a row's pairs along gradient[r]: Σ_c curvature_c (gradient·y_c)².

    If `other` is rounded, it is estimated for rows of more than `SAMPLE` pairs, from those at which
    the running sum of |curvature| passes one of `SAMPLE` equal steps. So a pair counts in
    proportion to its weight, and frequent and rare columns, which are in this order, have their
    shares.
    """
    ids, weights, products, sums = sample
    first_part, last_part = (0, len(indices)) if kind < 0 else (kind, kind + 1)
    total, pairs, group = 0.0, 0, 0
    for part in range(first_part, last_part):
        start, stop = bases[part] + indptr[part][row], bases[part] + indptr[part][row + 1]
        pairs += stop - start
        for first in range(start, stop, _GROUP):
            some: Any = _ZERO
            if first + _GROUP <= stop:
                for u in range(_GROUP):
                    some += abs(curvature[np.uint64(first + u)])
            else:
                for k in range(first, stop):
                    some += abs(curvature[np.uint64(k)])
            sums[group] = some
            total += some
            group += 1
    sampled = other.itemsize == 2 and pairs > SAMPLE
    step = total / SAMPLE
    along, reached, passed, count, group = 0.0, 0.0, 0.5 * step, 0, 0
    for part in range(first_part, last_part):
        start, stop = bases[part] + indptr[part][row], bases[part] + indptr[part][row + 1]
        for first in range(start, stop, _GROUP):
            group += 1
            if sampled and reached + sums[group - 1] <= passed:
                reached += sums[group - 1]
                continue
            for k in range(first, min(first + _GROUP, stop)):
                weight = curvature[np.uint64(k)]
                if sampled:
                    reached += abs(weight)
                    if reached <= passed:
                        continue
                    share = step * np.ceil((reached - passed) / step)
                    passed += share
                    weight = _f(share) if weight > _ZERO else -_f(share)
                ids[count] = np.int64(indices[part][k - bases[part]])
                if kind < 0:
                    ids[count] = ids[count] * layout[part, 1] + layout[part, 0]
                weights[count] = weight
                count += 1
                if count == SAMPLE:
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
    and how much lower the parabola is after it: the step lowers the loss by at least that much. If
    `other` is rounded, the curvature of this parabola is estimated; see `_curvature_along`. The
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
    vectors = np.empty((2, most_rows, dim), np.float32)
    buffers = (
        np.zeros(PAIRS + LANES, np.int64), np.empty((FIELDS, PAIRS), np.float32),
        np.zeros(PAIRS, np.float32), np.zeros(PAIRS, np.float32), np.empty(PAIRS, np.float32),
        np.empty(PAIRS, np.float32), np.zeros(LANES),
    )  # fmt: skip
    sample = (
        np.zeros(SAMPLE + LANES, np.int64), np.empty(SAMPLE, np.float32),
        np.empty(SAMPLE, np.float32), np.empty(most_pairs // _GROUP + len(indices)),
    )  # fmt: skip

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
                bases[part], buffers,
            )  # fmt: skip
            base += indptr[part][last] - indptr[part][first]
        for r in range(last - first):
            i = place + step * r
            square = 0.0
            for t in range(dim):
                square += np.float64(gradient[r, t] * gradient[r, t])
            along = rows[i, 5] * square + _curvature_along(
                first + r, kind, indptr, indices, layout, other, gradient, r, curvature, bases,
                sample,
            )  # fmt: skip
            losses[i, 1] = 0.0
            if along > 0.0:
                relaxation = np.float64(rows[i, 8])
                losses[i, 1] = relaxation * (1.0 - 0.5 * relaxation) * square * square / along
                length = _f(relaxation * square / along)
                for t in range(dim):
                    own[i, t] -= length * gradient[r, t]
