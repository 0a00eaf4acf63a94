"""Arrays that a kernel finds by their addresses, in one table, instead of taking each as an argument."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

__all__ = ["view"]

INTEGER = ir.IntType(64)


def view(kind: Any, axes: int) -> Any:
    """Return a function for kernels that returns a field of a table as an array of this kind.

    Row f of the table, of int64 and five columns, is the address of field f and the lengths of its axes.
    """
    array_type = types.Array(kind, axes, "C")
    size = kind.bitwidth // 8

    @intrinsic
    def field_of(typing_context: Any, table: Any, field: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows = context.make_array(signature.args[0])(context, builder, arguments[0])
            first = builder.mul(arguments[1], INTEGER(5))
            address, *shape = (
                builder.load(builder.gep(rows.data, [builder.add(first, INTEGER(place))])) for place in range(axes + 1)
            )
            strides = [INTEGER(size)]
            for length in shape[:0:-1]:
                strides.insert(0, builder.mul(strides[0], length))
            array = context.make_array(array_type)(context, builder)
            data = builder.inttoptr(address, array.data.type)
            arrayobj.populate_array(
                array, data=data, shape=shape, strides=strides, itemsize=INTEGER(size), meminfo=None
            )
            return array._getvalue()

        return array_type(table, types.int64), generate

    return field_of
