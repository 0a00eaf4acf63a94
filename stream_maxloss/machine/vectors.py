"""Vector instructions for kernels that work on addresses: numba leaves short fixed-length runs to scalar code.

Addresses are whole numbers: an array of them is one argument, whereas every array that is handed to a kernel costs
80 ns. Vectors need no alignment beyond that of their numbers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray as array_at
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "array_at",
    "copy_bytes",
    "count_beyond",
    "pointer_to_floats",
    "pointer_to_integers",
    "prefetch",
    "prefetch_far",
    "turn_four",
]

NUMBER = ir.DoubleType()
INTEGER = ir.IntType(64)
INDEX = ir.IntType(32)
BYTES = ir.IntType(8).as_pointer()
FOUR = ir.VectorType(NUMBER, 4)
EIGHT = ir.VectorType(NUMBER, 8)


def at(builder: Any, address: Any, kind: Any) -> Any:
    """Return an address as a pointer."""
    return builder.inttoptr(address, kind.as_pointer())


def spread(builder: Any, number: Any) -> Any:
    """Return a vector of eight times the same number."""
    nothing = ir.Constant(EIGHT, ir.Undefined)
    first = builder.insert_element(nothing, number, INDEX(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(INDEX, 8), [0] * 8))


@intrinsic
def pointer_to_floats(typing_context: Any, address: Any) -> Any:
    """Return an address as a pointer to float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), generate


@intrinsic
def pointer_to_integers(typing_context: Any, address: Any) -> Any:
    """Return an address as a pointer to int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int64)(address), generate


@intrinsic
def copy_bytes(typing_context: Any, goal: Any, source: Any, count: Any) -> Any:
    """Copy bytes from one address to another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        goal, source, count = arguments
        cgutils.raw_memcpy(builder, builder.inttoptr(goal, BYTES), builder.inttoptr(source, BYTES), count, INTEGER(1))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def make_prefetch(locality: int) -> Any:
    """Return the intrinsic prefetch(address), for all caches (3) or for those from the second on (2)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [BYTES, INDEX, INDEX, INDEX])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # To read, to keep in these caches, data.
        builder.call(ask, [builder.inttoptr(arguments[0], BYTES), INDEX(0), INDEX(locality), INDEX(1)])
        return context.get_dummy_value()

    @intrinsic
    def ask_for(typing_context: Any, address: Any) -> Any:
        """Ask for the cache line of an address that is read soon; any address will do."""
        return types.void(types.int64), generate

    return ask_for


prefetch, prefetch_far = make_prefetch(3), make_prefetch(2)


@intrinsic
def turn_four(typing_context: Any, first: Any, second: Any, third: Any, fourth: Any, goal: Any, stride: Any) -> Any:
    """Write four numbers of each of four columns as four rows of four, which lie `stride` bytes apart."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *columns, goal, stride = arguments

        def pick(one: Any, other: Any, *places: int) -> Any:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(INDEX, 4), list(places)))

        a, b, c, d = (builder.load(at(builder, column, FOUR), align=8) for column in columns)
        even, odd = (pick(a, b, 0, 4, 2, 6), pick(c, d, 0, 4, 2, 6)), (pick(a, b, 1, 5, 3, 7), pick(c, d, 1, 5, 3, 7))
        rows = [pick(*half, *places) for places in ((0, 1, 4, 5), (2, 3, 6, 7)) for half in (even, odd)]
        for row in rows:
            builder.store(row, at(builder, goal, FOUR), align=8)
            goal = builder.add(goal, stride)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


@intrinsic
def count_beyond(
    typing_context: Any,
    weights: Any,
    width: Any,
    values: Any,
    stride: Any,
    constant: Any,
    targets: Any,
    limit: Any,
    ceiling: Any,
    scores: Any,
) -> Any:
    """Score eight rows and return how many, from the first on, have limit < target * score < ceiling.

    The columns lie `stride` bytes apart. Each row's sum runs over them in order, so it has the bits of a plain loop.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, width, values, stride, constant, targets, limit, ceiling, scores = arguments
        total = cgutils.alloca_once_value(builder, ir.Constant(EIGHT, [0.0] * 8))
        with cgutils.for_range(builder, width) as loop:
            place = builder.add(weights, builder.mul(loop.index, INTEGER(8)))
            weight = spread(builder, builder.load(at(builder, place, NUMBER)))
            place = builder.add(values, builder.mul(loop.index, stride))
            column = builder.load(at(builder, place, EIGHT), align=8)
            builder.store(builder.fadd(builder.load(total), builder.fmul(weight, column)), total)
        score = builder.fadd(builder.load(total), spread(builder, constant))
        builder.store(score, at(builder, scores, EIGHT), align=8)
        margin = builder.fmul(score, builder.load(at(builder, targets, EIGHT), align=8))
        # Unordered, so that a margin that is no number counts as not beyond.
        within = builder.or_(
            builder.fcmp_unordered("<=", margin, spread(builder, limit)),
            builder.fcmp_unordered(">=", margin, spread(builder, ceiling)),
        )
        bits = builder.zext(builder.bitcast(within, ir.IntType(8)), INTEGER)
        return builder.cttz(builder.or_(bits, INTEGER(256)), ir.IntType(1)(1))

    whole, real = types.int64, types.float64
    return whole(whole, whole, whole, whole, real, whole, real, real, whole), generate
