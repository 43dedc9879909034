"""Prefetching for compiled loops: ask for memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


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
