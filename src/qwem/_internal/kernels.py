"""Compiled functions that kernels share: random bits, exponential and logarithm, prefetching."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from qwem._internal.compilation import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step between successive states."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(nogil=True, cache=True)
def mix(x: Any) -> Any:
    """Scramble 64 bits (the final step of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


# The compiler may reorder and fuse sums, which it does the same way in every run; no more.
_SUMS = {"reassoc", "contract", "nsz"}

_f = np.float32
_HALF, _ONE = _f(0.5), _f(1)
_LOG2_E, _LOG_2_HIGH, _LOG_2_LOW = _f(1.4426950408889634), _f(0.693359375), _f(-2.12194440e-4)
_LOWEST = _f(-87)  # the exponential of less is not a normal float32
# (e^r − 1 − r)/r² for |r| ≤ ½ log 2, as in the Cephes library; the highest power first.
_E5, _E4, _E3 = _f(1.9875691500e-4), _f(1.3981999507e-3), _f(8.3334519073e-3)
_E2, _E1, _E0 = _f(4.1665795894e-2), _f(1.6666665459e-1), _f(5.0000001201e-1)
# log(1 + t)/t for 0 ≤ t ≤ 1, interpolated at Chebyshev points; the highest power first.
_L8, _L7, _L6 = _f(0.0051261), _f(-0.02907406), _f(0.07751609)
_L5, _L4, _L3 = _f(-0.13602248), _f(0.19076881), _f(-0.24835399)
_L2, _L1, _L0 = _f(0.33318122), _f(-0.49999445), _f(0.99999997)


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def exp_of_negative(x: Any) -> Any:
    """Return e^x for x ≤ 0, to 1e-7 of its value."""
    x = max(x, _LOWEST)
    power = np.floor(x * _LOG2_E + _HALF)
    r = x - power * _LOG_2_HIGH - power * _LOG_2_LOW
    tail = ((((_E5 * r + _E4) * r + _E3) * r + _E2) * r + _E1) * r + _E0
    two_to_power = np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (tail * r * r + r + _ONE) * two_to_power


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def log_of_one_plus(t: Any) -> Any:
    """Return log(1 + t) for 0 ≤ t ≤ 1, to 2e-7."""
    high = (((_L8 * t + _L7) * t + _L6) * t + _L5) * t + _L4
    return ((((high * t + _L3) * t + _L2) * t + _L1) * t + _L0) * t


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the processor to load ``array[index]`` into its cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        offset = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = builder.bitcast(builder.gep(data, [offset]), byte_pointer)
        flag = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, flag, flag, flag]),
            "llvm.prefetch.p0",
        )
        read, keep, data_cache = (ir.Constant(flag, value) for value in (0, 3, 1))
        builder.call(function, [pointer, read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, index), generate
