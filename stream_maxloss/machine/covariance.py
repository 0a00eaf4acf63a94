"""Symmetric matrices of float64 in vector registers: the two passes of a recursive least-squares step.

Rows have a length that is a multiple of four, filled up with zeros. A matrix that is symmetric stays so to the bit:
with forgetting, a difference between its halves would otherwise grow by 1 / keep a step, without end.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["FOUR", "deflate", "project"]

FOUR = 4

REAL = ir.DoubleType()
INTEGER = ir.IntType(64)
INDEX = ir.IntType(32)
VECTOR = ir.VectorType(REAL, FOUR)


def pointer(builder: Any, address: Any, place: Any, kind: Any) -> Any:
    """Return a pointer to the number at a place after an address."""
    return builder.inttoptr(builder.add(address, builder.shl(place, INTEGER(3))), kind.as_pointer())


def load(builder: Any, address: Any, place: Any, kind: Any) -> Any:
    """Return the numbers at a place after an address."""
    return builder.load(pointer(builder, address, place, kind), align=8)


def spread(builder: Any, number: Any) -> Any:
    """Return a vector of four times the same number."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, INDEX(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(INDEX, FOUR), [0] * FOUR))


def fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, rounded once."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v4f64"), [a, b, c])


@intrinsic
def project(typing_context: Any, matrix: Any, x: Any, out: Any, length: Any) -> Any:
    """Write the product of a symmetric matrix and a vector; the first three are addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, x, out, length = arguments
        total = cgutils.alloca_once(builder, VECTOR)
        with cgutils.for_range(builder, builder.udiv(length, INTEGER(FOUR))) as part:
            column = builder.mul(part.index, INTEGER(FOUR))
            builder.store(ir.Constant(VECTOR, [0.0] * FOUR), total)
            with cgutils.for_range(builder, length) as row:
                place = builder.add(builder.mul(row.index, length), column)
                factor = spread(builder, load(builder, x, row.index, REAL))
                added = fma(builder, load(builder, matrix, place, VECTOR), factor, builder.load(total))
                builder.store(added, total)
            builder.store(builder.load(total), pointer(builder, out, column, VECTOR), align=8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


@intrinsic
def deflate(typing_context: Any, matrix: Any, x: Any, factor: Any, grow: Any, length: Any) -> Any:
    """Replace a symmetric matrix P by grow (P - factor x x'); `matrix` and `x` are addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, x, factor, grow, length = arguments
        minus, grow = spread(builder, builder.fneg(factor)), spread(builder, grow)
        with cgutils.for_range(builder, length) as row:
            one = spread(builder, load(builder, x, row.index, REAL))
            with cgutils.for_range(builder, builder.udiv(length, INTEGER(FOUR))) as part:
                column = builder.mul(part.index, INTEGER(FOUR))
                place = builder.add(builder.mul(row.index, length), column)
                # x_i x_j is the same for both halves; (factor x_i) x_j is not.
                product = builder.fmul(one, load(builder, x, column, VECTOR))
                less = fma(builder, minus, product, load(builder, matrix, place, VECTOR))
                builder.store(builder.fmul(grow, less), pointer(builder, matrix, place, VECTOR), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64, types.float64, types.int64), generate
