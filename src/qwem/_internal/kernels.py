"""Compiled code: its cache on disk, functions that kernels share, targets' entries and products."""

from __future__ import annotations

import logging
import subprocess
import sys
from functools import cache as once
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from qwem._internal.arrays import for_each, stored_blocks
from qwem._internal.resources import announce, thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy import sparse


_LOGGER = logging.getLogger(__name__)
_LONGEST = 120.0  # seconds that another process may take to compile


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return Numba's decorator of the same name.

    With `cache`, compiled code is kept on disk, beside the source or in the user's cache. If
    neither can be written, the disk is full, or the kept code is damaged, the function is compiled
    again, which takes a few seconds.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            try:
                dispatcher.enable_caching()
            except RuntimeError as error:  # no directory can be written
                _warn_not_cached(str(error))
            else:
                dispatcher._cache = _TolerantCache(dispatcher._cache)
        return dispatcher

    return decorate


class _TolerantCache:
    """Cache of compiled code in which every failure means that the code is compiled again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._compiler: subprocess.Popen[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def is_empty(self) -> bool:
        """Return whether nothing is kept."""
        try:
            return not self._cache._cache_file._load_index()
        except Exception as error:
            _LOGGER.debug("the index of compiled code can't be read: %r", error)
            return True

    def is_compiling(self) -> bool:
        """Return whether a process that compiles this function is running."""
        return self._compiler is not None and self._compiler.poll() is None

    def await_compiler(self, compiler: subprocess.Popen[bytes]) -> None:
        """Wait for a process that compiles this function, when its code is first needed."""
        self._compiler = compiler

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code, or None if there is none that can be used."""
        loaded = self._load(signature, context)
        if loaded is None:
            _announce()
            if self._compiler is not None:
                _wait(self._compiler)
                self._compiler = None
                loaded = self._load(signature, context)
        return loaded

    def _load(self, signature: Any, context: Any) -> Any:
        try:
            return self._cache.load_overload(signature, context)
        except Exception as error:
            _LOGGER.debug("compiled code can't be loaded: %r", error)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code if possible."""
        try:
            self._cache.save_overload(signature, compiled)
        except Exception as error:
            _warn_not_cached(str(error))


def compile_ahead(kernels: Sequence[Any], statement: str) -> None:
    """Compile functions in another process by a Python statement that calls them.

    Numba compiles one function at a time in a process, so this process can compile and run others
    meanwhile. It waits when it first needs one of these. Nothing is done if they are in the cache,
    if another process compiles them already, or if there is only one core.
    """
    caches = [each._cache for each in kernels if isinstance(each._cache, _TolerantCache)]
    if thread_count() < 2 or not any(cache.is_empty() for cache in caches):
        return
    if any(cache.is_compiling() for cache in caches):
        return
    command, nothing = [sys.executable, "-c", statement], subprocess.DEVNULL
    try:
        compiler = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    except OSError as error:
        _LOGGER.debug("no other process can compile: %r", error)
        return
    for cache in caches:
        cache.await_compiler(compiler)


def _wait(compiler: subprocess.Popen[bytes]) -> None:
    try:
        compiler.wait(_LONGEST)
    except subprocess.TimeoutExpired:
        compiler.kill()


@once
def _announce() -> None:
    announce("Compiling kernels as they are first used, once: about ten seconds for a fit.")


@once
def _warn() -> None:
    _LOGGER.warning(
        "Compiled code can't be kept on this disk, so every start takes some seconds longer; set "
        "NUMBA_CACHE_DIR to a directory that can be written."
    )


def _warn_not_cached(reason: str) -> None:
    _LOGGER.debug("compiled code can't be kept: %s", reason)
    _warn()


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step between successive states of SplitMix64."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(nogil=True, cache=True)
def mix(x: Any) -> Any:
    """Scramble 64 bits (the final step of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(nogil=True, cache=True)
def lower_bound(numbers: Any, start: Any, stop: Any, least: Any) -> Any:
    """Return the first position from `start` up to `stop` whose number is at least `least`.

    The numbers between are sorted; `stop` if all are smaller. It compiles in a fifth of the time of
    `np.searchsorted`.
    """
    while start < stop:
        middle = (start + stop) // 2
        if numbers[middle] < least:
            start = middle + 1
        else:
            stop = middle
    return start


# The compiler may only reorder and fuse sums, which it does the same way in every run.
_SUMS = {"reassoc", "contract", "nsz"}

_f = np.float32
_HALF, _ONE = _f(0.5), _f(1)
LOWEST = _f(-87)
"""The exponential of less is not a normal float32."""

LOG_2 = (_f(1.4426950408889634), _f(0.693359375), _f(-2.12194440e-4))
"""1/log 2, and log 2 as the sum of a short number and a small one."""

EXP_COEFFICIENTS = tuple(
    map(_f, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
             5.0000001201e-1))
)  # fmt: skip
"""Of (e^r − 1 − r)/r² for |r| ≤ ½ log 2, as in the Cephes library; the highest power first."""

LOG_COEFFICIENTS = tuple(
    map(_f, (0.0051261, -0.02907406, 0.07751609, -0.13602248, 0.19076881, -0.24835399, 0.33318122,
             -0.49999445, 0.99999997))
)  # fmt: skip
"""Of log(1 + t)/t for 0 ≤ t ≤ 1, interpolated at Chebyshev points; the highest power first."""

_LOG2_E, _LOG_2_HIGH, _LOG_2_LOW = LOG_2
_E5, _E4, _E3, _E2, _E1, _E0 = EXP_COEFFICIENTS
_L8, _L7, _L6, _L5, _L4, _L3, _L2, _L1, _L0 = LOG_COEFFICIENTS


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def exp_of_negative(x: Any) -> Any:
    """Return e^x for x ≤ 0, with a relative error of 1e-7."""
    x = max(x, LOWEST)
    power = np.floor(x * _LOG2_E + _HALF)
    r = x - power * _LOG_2_HIGH - power * _LOG_2_LOW
    tail = ((((_E5 * r + _E4) * r + _E3) * r + _E2) * r + _E1) * r + _E0
    two_to_power = np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (tail * r * r + r + _ONE) * two_to_power


@njit(inline="always", error_model="numpy", fastmath=_SUMS)
def log_of_one_plus(t: Any) -> Any:
    """Return log(1 + t) for 0 ≤ t ≤ 1, with an error of 2e-7."""
    high = (((_L8 * t + _L7) * t + _L6) * t + _L5) * t + _L4
    return ((((high * t + _L3) * t + _L2) * t + _L1) * t + _L0) * t


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the processor to load ``array[index]`` into its cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        offset = context.cast(builder, arguments[1], signature.args[1], types.intp)
        emit_prefetch(builder, builder.gep(data, [offset]))
        return context.get_dummy_value()

    return types.void(array, index), generate


def emit_prefetch(builder: Any, pointer: Any) -> None:
    """Add the instruction that loads what a pointer points to into the processor's cache."""
    byte_pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte_pointer, flag, flag, flag]),
        "llvm.prefetch.p0",
    )
    read, keep, data_cache = (ir.Constant(flag, value) for value in (0, 3, 1))
    builder.call(function, [builder.bitcast(pointer, byte_pointer), read, keep, data_cache])


Array = np.ndarray[Any, Any]

LANES = 32
"""How many columns of the dense block are multiplied at once, in vector registers."""

_CHAINS = 2  # sums that do not wait for each other
_CACHED_ROWS = 1 << 17
"""Rows of the dense block that are used in one pass over the sparse rows: 16 MB of float32."""


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

    The sums, one of the even and one of the odd entries, stay in vector registers, which the
    compiler does not achieve by itself. `block` and `out` must be C-contiguous.
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

        result = lanes_of(target, place)
        totals = [cgutils.alloca_once(builder, vector) for _ in range(_CHAINS)]
        builder.store(builder.load(result, align=size), totals[0])
        for total in totals[1:]:
            builder.store(ir.Constant(vector, [0.0] * LANES), total)

        def add(entry: Any, total: Any) -> None:
            column = builder.load(builder.gep(column_ids, [entry]))
            column = context.cast(builder, column, kinds[0].dtype, types.intp)
            value = builder.load(builder.gep(values, [entry]))
            value = context.cast(builder, value, kinds[1].dtype, kinds[2].dtype)
            spread = builder.insert_element(undefined, value, ir.Constant(number, 0))
            spread = builder.shuffle_vector(spread, undefined, everywhere)
            other = builder.load(lanes_of(rows, column), align=size)
            product = builder.fmul(spread, other, flags=("contract",))
            builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)

        one, chains = (context.get_constant(types.intp, n) for n in (1, _CHAINS))
        whole = builder.sub(end, builder.srem(builder.sub(end, begin), chains))
        with cgutils.for_range_slice(builder, begin, whole, chains) as (entry, _):
            for n, total in enumerate(totals):
                add(builder.add(entry, context.get_constant(types.intp, n)), total)
        with cgutils.for_range_slice(builder, whole, end, one) as (entry, _):
            add(entry, totals[0])
        together = builder.load(totals[0])
        for total in totals[1:]:
            together = builder.fadd(together, builder.load(total))
        builder.store(together, result, align=size)
        return context.get_dummy_value()

    return types.void(indices, data, block, start, stop, out, row, first), generate


@njit(nogil=True, cache=True, fastmath={"contract"})
def multiply_rows(indptr: Array, indices: Array, data: Array, block: Array, out: Array) -> None:
    """Add some rows of a sparse matrix times `block` to `out`; `indptr` belongs to the rows.

    `LANES` columns of `block` are multiplied in a pass over all rows, so that what they read of
    `block` fits in the cache. Of a larger block, one range of rows is used at a time; the indices,
    which must be sorted in each row, tell where it ends. Reading from the cache is what takes time:
    `LANES` numbers of `block` per stored entry, for as many multiplications.
    """
    columns = block.shape[1]
    for first in range(0, columns, LANES):
        reached = indptr[:-1].copy()
        for end in range(_CACHED_ROWS, block.shape[0] + _CACHED_ROWS, _CACHED_ROWS):
            for i in range(out.shape[0]):
                entry, stop = reached[i], indptr[i + 1]
                if entry == stop or indices[entry] >= end:
                    continue
                if end < block.shape[0]:
                    stop = lower_bound(indices, entry, stop, end)
                if first + LANES <= columns:
                    _add_entries(indices, data, block, entry, stop, out, i, first)
                else:
                    for k in range(entry, stop):
                        value, other = data[k], indices[k]
                        for column in range(first, columns):
                            out[i, column] += value * block[other, column]
                reached[i] = stop


@njit(inline="always", error_model="numpy")
def _rational(count: Any, expected: Any, coefficients: Any) -> Any:
    """Return an entry of a target, (a C + b E) / (c C + d E + h), always in float64.

    C is the pair's count, and E the count expected under independence: a sum of separable terms,
    E_ij = Σ_t left_it right_tj. The coefficients (a, b, c, d, h) are one array.
    """
    a, b, c, d, h = coefficients
    return (a * count + b * expected) / (c * count + d * expected + h)


@njit(nogil=True, cache=True, error_model="numpy")
def _expected_row(left: Array, right: Array, out: Array) -> None:
    for j in range(out.size):
        out[j] = left[0] * right[0, j]
    for term in range(1, left.size):
        weight = left[term]
        for j in range(out.size):
            out[j] += weight * right[term, j]


@njit(nogil=True, cache=True, error_model="numpy")
def fill_from_dense(
    counts: Array, left: Array, right: Array, coefficients: Array, out: Array
) -> None:
    """Write R(C, E) for every pair of some rows of dense counts."""
    k = (coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4])
    expected = np.empty(right.shape[1])
    for i in range(counts.shape[0]):
        _expected_row(left[i], right, expected)
        for j in range(expected.size):
            out[i, j] = _rational(np.float64(counts[i, j]), expected[j], k)


@njit(nogil=True, cache=True, error_model="numpy")
def fill_from_sparse(
    indptr: Array, indices: Array, counts: Array,
    left: Array, right: Array, coefficients: Array, out: Array,
) -> None:  # fmt: skip
    """Write R(C, E) for every pair of some rows of sparse counts, seen or not.

    `indptr` is that of the rows; it points into `indices` and `counts` of the whole matrix.
    """
    k = (coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4])
    expected = np.empty(right.shape[1])
    for i in range(out.shape[0]):
        _expected_row(left[i], right, expected)
        for j in range(expected.size):
            out[i, j] = _rational(0.0, expected[j], k)
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            out[i, j] = _rational(np.float64(counts[entry]), expected[j], k)


@njit(nogil=True, cache=True, error_model="numpy")
def fill_stored(
    indptr: Array, indices: Array, counts: Array,
    left: Array, right: Array, coefficients: Array, out: Array,
) -> None:  # fmt: skip
    """Write R(C, E) − R(0, E) for the stored pairs of some rows of sparse counts.

    `out` has the stored entries of the whole matrix, as `indices` and `counts` do.
    """
    k = (coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4])
    for i in range(indptr.size - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            expected = 0.0
            for term in range(right.shape[0]):
                expected += left[i, term] * right[term, j]
            seen = _rational(np.float64(counts[entry]), expected, k)
            out[entry] = seen - _rational(0.0, expected, k)
