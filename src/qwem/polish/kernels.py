"""The loops behind `polish`: from the logits of some rows to the slopes of the loss, in place.

A pair has the positive weight C, its count times a_i a_j plus a_i b_j, and the negative weight
N = n_i q_j + a_i c_j: (a_i, n_i) come as `left`, (a_j, q_j, b_j, c_j) as `right`, b and c being
evidence of independence. With x the logit, the loss is
C softplus(−x) + N softplus(x) = (C + N) softplus(x) − C x, its slope in x is (C + N) σ(x) − C and
its curvature (C + N) σ(x) σ(−x). All three come from e^{−|x|}, which can't overflow. Exponential
and logarithm are polynomials in float32, so that the compiler can work on many columns at once;
sums are float64. A row is worked on alone, whatever the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from qwem._internal.elementary import exp_of_negative, log_of_one_plus

Array = np.ndarray[Any, Any]

# The compiler may reorder and fuse sums, which it does the same way in every run; no more.
_SUMS = {"reassoc", "contract", "nsz"}

_f = np.float32
_ZERO, _ONE = _f(0), _f(1)


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def _row(logits: Any, counts: Any, left: Any, right: Any, columns: Any) -> Any:
    """Turn one row of logits into slopes; return its loss and its curvature."""
    weight, negatives = left[0], left[1]
    weights, noise, agreed, refused = right[0], right[1], right[2], right[3]
    loss = 0.0
    curvature = 0.0
    for j in range(logits.size):
        x = logits[j]
        positive = weight * (_f(counts[j]) * weights[j] + agreed[j])
        both = positive + negatives * noise[j] + weight * refused[j]
        t = exp_of_negative(-abs(x))
        larger = _ONE / (_ONE + t)  # σ(|x|)
        smaller = t * larger
        curved = both * larger * smaller
        logits[j] = both * (larger if x >= _ZERO else smaller) - positive
        loss += np.float64(both * (max(x, _ZERO) + log_of_one_plus(t)) - positive * x)
        curvature += np.float64(curved)
        columns[j] += np.float64(curved)
    return loss, curvature


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def slopes_dense(
    logits: Array,
    counts: Array,
    left: Array,
    right: Array,
    losses: Array,
    curvature: Array,
    columns: Array,
) -> None:
    """Turn rows of logits into slopes, for rows of dense counts.

    Writes each row's loss and total curvature, and adds each column's curvature to `columns`.
    """
    for i in range(logits.shape[0]):
        losses[i], curvature[i] = _row(logits[i], counts[i], left[i], right, columns)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def slopes_sparse(
    logits: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    left: Array,
    right: Array,
    losses: Array,
    curvature: Array,
    columns: Array,
) -> None:
    """Do the same for rows of sparse counts; `indptr` belongs to the rows."""
    counts = np.zeros(logits.shape[1], np.float32)
    for i in range(logits.shape[0]):
        for entry in range(indptr[i], indptr[i + 1]):
            counts[indices[entry]] = data[entry]
        losses[i], curvature[i] = _row(logits[i], counts, left[i], right, columns)
        for entry in range(indptr[i], indptr[i + 1]):
            counts[indices[entry]] = _ZERO
