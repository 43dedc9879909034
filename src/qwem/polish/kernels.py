"""The loops behind `polish`: many small logistic regressions, each a row of W or of W′.

A row w is fitted against the fixed rows y_j of the other side, which come in coordinates in which
the curvature of all pairs together is the identity. With z = w·y_j, and x = β + z the logit, a
stored pair of weights C and N adds to the row's loss

    (C + N) (softplus(β + z) − softplus(β)) − C z − N_s z − ½ N_h z²,

word2vec's own term, less its value at z = 0, less the parabola by which the sums over all pairs
have counted the pair already. C is the count times ``columns[j, 0]``. N, N_s and N_h are products
of a number of the row, ``rows[i, :3]``, and one of the column, ``columns[j, 1:4]``; β and
softplus(β) are sums of such, of ``rows[i, 3:5]`` and ``columns[j, 4:6]``. The sums over all pairs
are ½ ``rows[i, 5]`` |w|² + ``rows[i, 6]`` w·constant. Where rows have means μ, ``rows[i, 7]``
(½ |μ_i|² − w·μ_i) is added to them: of the first term, that part is centred at μ_i.

Rows are worked on in blocks, and columns in tiles, so that the y_j of a tile stay in a core's
cache while the rows of a block use them. Where a tile is nearly full, its products are products of
matrices. A row's arithmetic is the same whichever thread it is on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import exp_of_negative, log_of_one_plus, njit

Array = np.ndarray[Any, Any]

# The compiler may reorder and fuse sums, which it does the same way in every run; no more.
_SUMS = {"reassoc", "contract", "nsz"}

PAIRS = 32
"""Pairs that are worked on together: their rows fit in the fastest cache."""

DENSE_SHARE = 0.25
"""Where more than this share of a tile's pairs is stored, whole products of matrices are faster."""

SPACE = 1 << 18
"""Numbers that such a tile may take: its products and its slopes."""

_f = np.float32
_ZERO, _HALF, _ONE = _f(0), _f(0.5), _f(1)


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _products(other: Any, indices: Any, start: Any, count: Any, row: Any, k: Any, out: Any) -> None:
    """Write row[k]·y_j for `count` pairs, four at a time."""
    dim = other.shape[1]
    done = 0
    while done + 4 <= count:
        j0, j1 = indices[start + done], indices[start + done + 1]
        j2, j3 = indices[start + done + 2], indices[start + done + 3]
        s0, s1, s2, s3 = _ZERO, _ZERO, _ZERO, _ZERO
        for t in range(dim):
            value = row[k, t]
            s0 += value * other[j0, t]
            s1 += value * other[j1, t]
            s2 += value * other[j2, t]
            s3 += value * other[j3, t]
        out[done], out[done + 1], out[done + 2], out[done + 3] = s0, s1, s2, s3
        done += 4
    while done < count:
        j0 = indices[start + done]
        s0 = _ZERO
        for t in range(dim):
            s0 += row[k, t] * other[j0, t]
        out[done] = s0
        done += 1


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _add_rows(
    other: Any, indices: Any, start: Any, count: Any, by: Any, total: Any, k: Any
) -> None:
    """Add the rows y_j of `count` pairs, times `by`, to total[k], four at a time."""
    dim = other.shape[1]
    done = 0
    while done + 4 <= count:
        j0, j1 = indices[start + done], indices[start + done + 1]
        j2, j3 = indices[start + done + 2], indices[start + done + 3]
        c0, c1, c2, c3 = by[done], by[done + 1], by[done + 2], by[done + 3]
        for t in range(dim):
            total[k, t] += (
                c0 * other[j0, t] + c1 * other[j1, t] + c2 * other[j2, t] + c3 * other[j3, t]
            )
        done += 4
    while done < count:
        j0, c0 = indices[start + done], by[done]
        for t in range(dim):
            total[k, t] += c0 * other[j0, t]
        done += 1


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _slopes(
    products: Any, gathered: Any, count: Any, slopes: Any, curvature: Any, start: Any
) -> Any:
    """Write slope and curvature of `count` pairs; return their loss.

    The curvature is that of the parabola that touches the loss at x and nowhere falls below it,
    (C + N) tanh(x/2)/2x (Jaakkola and Jordan 2000), so that no step can overshoot.
    """
    loss = 0.0
    for c in range(count):
        z = products[c]
        positive, both = gathered[0, c], gathered[0, c] + gathered[1, c]
        slope, curved = gathered[2, c], gathered[3, c]
        x = z + gathered[4, c]
        size = abs(x)
        t = exp_of_negative(-size)
        larger = _ONE / (_ONE + t)  # σ(|x|)
        sigmoid = larger if x >= _ZERO else t * larger
        slopes[c] = both * sigmoid - positive - slope - curved * z
        # tanh(x/2)/2x, and its limit ¼ where x is too small to divide by.
        bound = (_ONE - t) * larger / (size + size) if size > _f(1e-3) else _f(0.25)
        curvature[start + c] = both * bound - curved
        softplus = max(x, _ZERO) + log_of_one_plus(t)
        loss += np.float64(
            both * (softplus - gathered[5, c]) - (positive + slope + _HALF * curved * z) * z
        )
    return loss


@njit(inline="always")
def _tile_end(indices: Any, start: Any, stop: Any, column: Any) -> Any:
    """Return where, between `start` and `stop`, the entries before `column` end."""
    if stop == start or indices[stop - 1] < column:
        return stop
    at = start
    while indices[at] < column:
        at += 1
    return at


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _take_products(
    width: Any, whole: Any, r: Any, left: Any, other: Any, pairs: Any, row: Any, k: Any, out: Any
) -> None:
    """Write row[k]·y_j for some pairs: those of a whole tile if it has a width, or new ones."""
    indices, start, count = pairs
    if width:
        for c in range(count):
            out[c] = whole[0, r, indices[start + c] - left]
    else:
        _products(other, indices, start, count, row, k, out)


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _bend(curvature: Any, start: Any, count: Any, products: Any) -> Any:
    """Return the curvature of `count` pairs together, in the direction of `products`."""
    total = 0.0
    for c in range(count):
        total += np.float64(curvature[start + c] * products[c] * products[c])
    return total


@njit(inline="always")
def _enter_tile(
    left: Any, right: Any, indptr: Any, indices: Any, first: Any, at: Any, ends: Any, room: Any
) -> Any:
    """Write where each row's entries of a tile end; return its width if it is nearly full, or 0."""
    entries = 0
    for r in range(at.size):
        ends[r] = _tile_end(indices, at[r], indptr[first + r + 1], right)
        entries += ends[r] - at[r]
    cells = at.size * (right - left)
    dense = at.size > 1 and entries > DENSE_SHARE * cells and 2 * cells <= room
    return right - left if dense else 0


@njit(nogil=True, error_model="numpy", fastmath=_SUMS)
def _solve(
    first: Any, last: Any, tiles: Array, indptr: Array, indices: Array, counts: Array,
    other: Array, constant: Array, rows: Array, columns: Array, means: Array,
    own: Array, losses: Array, space: Array,
) -> None:  # fmt: skip
    """Take one step for the rows `first` to `last` together; see `solve_blocks`."""
    dim = other.shape[1]
    count = last - first
    base = indptr[first]
    curvature = np.empty(indptr[last] - base, np.float32)
    gradient = np.empty((count, dim), np.float32)
    along = np.zeros(count)
    at, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    products, slopes = np.empty(PAIRS, np.float32), np.empty(PAIRS, np.float32)
    gathered = np.empty((6, PAIRS), np.float32)

    for r in range(count):
        i = first + r
        at[r] = indptr[i]
        square, level = 0.0, 0.0
        for t in range(dim):
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
    for tile in range(tiles.size - 1):
        left, right = tiles[tile], tiles[tile + 1]
        width = _enter_tile(left, right, indptr, indices, first, at, ends, space.size)
        whole = space[: 2 * count * width].reshape((2, count, width))
        if width:
            np.dot(own[first:last], other[left:right].T, whole[0])
            whole[1] = _ZERO
        for r in range(count):
            i = first + r
            for start in range(at[r], ends[r], PAIRS):
                some = min(PAIRS, ends[r] - start)
                pairs = indices, start, some
                _take_products(width, whole, r, left, other, pairs, own, i, products)
                for c in range(some):
                    j = indices[start + c]
                    gathered[0, c] = _f(counts[start + c]) * columns[j, 0]
                    gathered[1, c] = rows[i, 0] * columns[j, 1]
                    gathered[2, c] = rows[i, 1] * columns[j, 2]
                    gathered[3, c] = rows[i, 2] * columns[j, 3]
                    gathered[4, c] = rows[i, 3] + columns[j, 4]
                    gathered[5, c] = rows[i, 4] + columns[j, 5]
                losses[i, 0] += _slopes(products, gathered, some, slopes, curvature, start - base)
                if width:
                    for c in range(some):
                        whole[1, r, indices[start + c] - left] = slopes[c]
                else:
                    _add_rows(other, indices, start, some, slopes, gradient, r)
            at[r] = ends[r]
        if width:
            gradient += np.dot(whole[1], other[left:right])

    for r in range(count):
        at[r] = indptr[first + r]
    for tile in range(tiles.size - 1):
        left, right = tiles[tile], tiles[tile + 1]
        width = _enter_tile(left, right, indptr, indices, first, at, ends, space.size)
        whole = space[: 2 * count * width].reshape((2, count, width))
        if width:
            np.dot(gradient, other[left:right].T, whole[0])
        for r in range(count):
            for start in range(at[r], ends[r], PAIRS):
                some = min(PAIRS, ends[r] - start)
                pairs = indices, start, some
                _take_products(width, whole, r, left, other, pairs, gradient, r, products)
                along[r] += _bend(curvature, start - base, some, products)
            at[r] = ends[r]
    for r in range(count):
        i = first + r
        square = 0.0
        for t in range(dim):
            square += np.float64(gradient[r, t] * gradient[r, t])
        along[r] += rows[i, 5] * square
        losses[i, 1] = 0.0
        if along[r] > 0.0:
            losses[i, 1] = 0.5 * square * square / along[r]
            length = _f(square / along[r])
            for t in range(dim):
                own[i, t] -= length * gradient[r, t]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def solve_blocks(
    cuts: Array, tiles: Array, indptr: Array, indices: Array, counts: Array,
    other: Array, constant: Array, rows: Array, columns: Array, means: Array,
    own: Array, losses: Array,
) -> None:  # fmt: skip
    """Take one step for each row of `own` from ``cuts[0]`` to ``cuts[-1]``.

    The step goes along the gradient to the minimum of the parabola that bounds the row's loss from
    above. Written to `losses` are the row's loss before the step, and how much lower that minimum
    is: the step lowers the loss by at least so much. The rows between two cuts are worked on
    together, a tile of columns at a time; a row that is alone, in one piece. `tiles` are the
    columns at which tiles begin, and one past the last.
    """
    whole = np.array([0, tiles[-1]], tiles.dtype)
    space = np.empty(SPACE, np.float32)
    for block in range(cuts.size - 1):
        first, last = cuts[block], cuts[block + 1]
        _solve(
            first, last, whole if last - first == 1 else tiles, indptr, indices, counts,
            other, constant, rows, columns, means, own, losses, space,
        )  # fmt: skip
