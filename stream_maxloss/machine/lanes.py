"""Eight linear models side by side in vector registers.

A *cell* holds what eight models know of one feature: their eight weights, then their eight sums of squared gradients,
as float32: 64 bytes, one cache line. Scores and steps of all eight cost little more than those of one. numba's own
loops over lanes stay scalar, so these are written for LLVM.

All results are the same on every processor: nothing here but IEEE operations in a fixed order. The root of a step is
found by Newton's method from a first guess by its exponent (two rounds, 5e-6 relative), since dividing by a square root
takes twice as long as all the rest of a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "CELL_BYTES",
    "LANES",
    "LANE_BYTES",
    "count_below",
    "merge_bits",
    "score_cells",
    "score_leaves",
    "sigmoids",
    "step_cells",
    "step_leaves",
]

LANES = 8
LANE_BYTES = 32
CELL_BYTES = 64

NUMBER = ir.FloatType()
REAL = ir.DoubleType()
INTEGER = ir.IntType(64)
SHORT = ir.IntType(16)
INDEX = ir.IntType(32)
EIGHT = ir.VectorType(NUMBER, LANES)
EIGHT_WORDS = ir.VectorType(INDEX, LANES)
EIGHT_REALS = ir.VectorType(REAL, LANES)
EIGHT_INTEGERS = ir.VectorType(INTEGER, LANES)
FOUR_INTEGERS = ir.VectorType(INTEGER, 4)
# Keeps 0 / sqrt(G) finite for an expert that does not use the feature; far below any squared gradient that counts.
TINY = 1e-12
# First guess of 1 / sqrt(x): half the exponent, with the constant that Lomont (2003) found.
GUESS = 0x5F375A86
# Partial sums of a score: the next addition need not wait for the last.
SUMS = 4
# exp(x) = 2^n exp(r), |r| <= ln(2) / 2, and so many terms of the series for exp(r): 1e-14.
TERMS = 11
LOG2_E = 1.0 / math.log(2.0)
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10

Place = Callable[[Any], tuple[Any, Any]]


def load(builder: Any, address: Any, kind: Any) -> Any:
    """Return what lies at an address; vectors need no alignment beyond that of their numbers."""
    align = {INTEGER: 8, EIGHT_REALS: 8, FOUR_INTEGERS: 1, SHORT: 2}.get(kind, 4)
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)


def store(builder: Any, vector: Any, address: Any) -> None:
    """Write a vector to an address."""
    align = {EIGHT_REALS: 8, FOUR_INTEGERS: 1}.get(vector.type, 4)
    builder.store(vector, builder.inttoptr(address, vector.type.as_pointer()), align=align)


def spread(builder: Any, number: Any) -> Any:
    """Return a vector of eight times the same number."""
    kind = ir.VectorType(number.type, LANES)
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, INDEX(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(EIGHT_WORDS, [0] * LANES))


def constant(kind: Any, number: Any) -> Any:
    """Return a vector of eight times a constant."""
    return ir.Constant(kind, [number] * LANES)


def call(builder: Any, name: str, *vectors: Any) -> Any:
    """Call one of LLVM's own functions of vectors."""
    kind = vectors[0].type
    signature = ir.FunctionType(kind, [kind] * len(vectors))
    suffix = "v8f64" if kind == EIGHT_REALS else "v8f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{suffix}"), vectors)


def listed(builder: Any, cells: Any, stride: Any, indices: Any, values: Any) -> Place:
    """Return how to find the cell and the value of an active feature in two lists."""

    def find(place: Any) -> tuple[Any, Any]:
        index = load(builder, builder.add(indices, builder.shl(place, INTEGER(3))), INTEGER)
        value = load(builder, builder.add(values, builder.shl(place, INTEGER(2))), NUMBER)
        return builder.add(cells, builder.mul(index, stride)), spread(builder, value)

    return find


def leafed(builder: Any, cells: Any, stride: Any, leaves: Any, first: Any, bits: Any, shift: Any) -> Place:
    """Return how to find the cell of a fern's leaf: (fern << bits) + (leaf >> shift), with the value 1."""

    def find(place: Any) -> tuple[Any, Any]:
        fern = builder.add(first, place)
        leaf = builder.zext(load(builder, builder.add(leaves, builder.shl(fern, INTEGER(1))), SHORT), INTEGER)
        index = builder.add(builder.shl(fern, bits), builder.lshr(leaf, shift))
        return builder.add(cells, builder.mul(index, stride)), None

    return find


def add_scores(builder: Any, find: Place, count: Any, mask: Any, norm: Any, out: Any) -> None:
    """Add norm mask sum_i x_i w_i of each lane to `out`."""
    totals = [cgutils.alloca_once_value(builder, constant(EIGHT, 0.0)) for _ in range(SUMS)]

    def add(place: Any, total: Any) -> None:
        cell, value = find(place)
        weight = load(builder, cell, EIGHT)
        before = builder.load(total)
        after = builder.fadd(before, weight) if value is None else call(builder, "fma", weight, value, before)
        builder.store(after, total)

    whole = builder.and_(count, INTEGER(-SUMS))
    with cgutils.for_range(builder, builder.udiv(count, INTEGER(SUMS))) as loop:
        first = builder.mul(loop.index, INTEGER(SUMS))
        for part, total in enumerate(totals):
            add(builder.add(first, INTEGER(part)), total)
    with cgutils.for_range(builder, builder.sub(count, whole)) as loop:
        add(builder.add(whole, loop.index), totals[0])
    one, two, three, four = (builder.load(total) for total in totals)
    total = builder.fadd(builder.fadd(one, two), builder.fadd(three, four))
    factor = builder.fmul(load(builder, mask, EIGHT), spread(builder, norm))
    store(builder, call(builder, "fma", factor, total, load(builder, out, EIGHT)), out)


def take_steps(builder: Any, find: Place, count: Any, lanes: Any, scale: Any) -> None:
    """Per active feature and lane: g = gradient mask scale x_i; G += g^2; w += g (adaptive / sqrt(G) + constant)."""
    gradient, mask, adaptive, steady = (load(builder, address, EIGHT) for address in lanes)
    slope = builder.fmul(builder.fmul(gradient, mask), spread(builder, scale))
    with cgutils.for_range(builder, count) as loop:
        weights, value = find(loop.index)
        squares = builder.add(weights, INTEGER(LANE_BYTES))
        g = slope if value is None else builder.fmul(slope, value)
        G = call(builder, "fma", g, g, load(builder, squares, EIGHT))
        root = inverse_root(builder, builder.fadd(G, constant(EIGHT, TINY)))
        rate = call(builder, "fma", adaptive, root, steady)
        store(builder, call(builder, "fma", g, rate, load(builder, weights, EIGHT)), weights)
        store(builder, G, squares)


def inverse_root(builder: Any, x: Any) -> Any:
    """Return 1 / sqrt(x) of each lane, to 5e-6."""
    half = builder.lshr(builder.bitcast(x, EIGHT_WORDS), constant(EIGHT_WORDS, 1))
    y = builder.bitcast(builder.sub(constant(EIGHT_WORDS, GUESS), half), EIGHT)
    minus = builder.fmul(x, constant(EIGHT, -0.5))
    for _ in range(2):
        # y (3/2 - x y^2 / 2)
        y = builder.fmul(y, call(builder, "fma", builder.fmul(minus, y), y, constant(EIGHT, 1.5)))
    return y


@intrinsic
def score_cells(
    typing_context: Any, cells: Any, stride: Any, indices: Any, values: Any, count: Any, mask: Any, norm: Any, out: Any
) -> Any:
    """Add norm mask sum_i x_i w_i of each lane to `out`; all but `count` and `norm` are addresses, or in bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, stride, indices, values, count, mask, norm, out = arguments
        add_scores(builder, listed(builder, cells, stride, indices, values), count, mask, norm, out)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6, types.float32, types.int64), generate


@intrinsic
def score_leaves(
    typing_context: Any,
    cells: Any,
    stride: Any,
    leaves: Any,
    first: Any,
    count: Any,
    bits: Any,
    shift: Any,
    mask: Any,
    norm: Any,
    out: Any,
) -> Any:
    """Add norm mask sum w of each lane to `out`, over the leaves of `count` ferns from the `first` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, stride, leaves, first, count, bits, shift, mask, norm, out = arguments
        find = leafed(builder, cells, stride, leaves, first, bits, shift)
        add_scores(builder, find, count, mask, norm, out)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8, types.float32, types.int64), generate


@intrinsic
def step_cells(
    typing_context: Any,
    cells: Any,
    stride: Any,
    indices: Any,
    values: Any,
    count: Any,
    gradient: Any,
    mask: Any,
    adaptive: Any,
    steady: Any,
    scale: Any,
) -> Any:
    """Step on features in two lists: G += g^2, w += g (adaptive / sqrt(G) + steady), g = gradient mask scale x_i."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, stride, indices, values, count, *lanes, scale = arguments
        take_steps(builder, listed(builder, cells, stride, indices, values), count, lanes, scale)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9, types.float32), generate


@intrinsic
def step_leaves(
    typing_context: Any,
    cells: Any,
    stride: Any,
    leaves: Any,
    first: Any,
    count: Any,
    bits: Any,
    shift: Any,
    gradient: Any,
    mask: Any,
    adaptive: Any,
    steady: Any,
    scale: Any,
) -> Any:
    """Step as `step_cells` does on the leaves of `count` ferns from the `first` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, stride, leaves, first, count, bits, shift, *lanes, scale = arguments
        take_steps(builder, leafed(builder, cells, stride, leaves, first, bits, shift), count, lanes, scale)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 11, types.float32), generate


@intrinsic
def sigmoids(typing_context: Any, scores: Any, highest: Any, out: Any) -> Any:
    """Write 1 / (1 + exp(-s)) of eight float32 scores, cut off at +-`highest`, as float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scores, highest, out = arguments
        s = builder.fpext(load(builder, scores, EIGHT), EIGHT_REALS)
        limit = spread(builder, highest)
        x = builder.fneg(call(builder, "minnum", call(builder, "maxnum", s, builder.fneg(limit)), limit))
        whole = call(
            builder, "floor", call(builder, "fma", x, constant(EIGHT_REALS, LOG2_E), constant(EIGHT_REALS, 0.5))
        )
        rest = call(builder, "fma", whole, constant(EIGHT_REALS, -LN2_HIGH), x)
        rest = call(builder, "fma", whole, constant(EIGHT_REALS, -LN2_LOW), rest)
        series = constant(EIGHT_REALS, 1.0 / math.factorial(TERMS))
        for term in range(TERMS - 1, -1, -1):
            series = call(builder, "fma", series, rest, constant(EIGHT_REALS, 1.0 / math.factorial(term)))
        power = builder.shl(builder.fptosi(whole, EIGHT_INTEGERS), constant(EIGHT_INTEGERS, 52))
        exponential = builder.bitcast(builder.add(builder.bitcast(series, EIGHT_INTEGERS), power), EIGHT_REALS)
        one = constant(EIGHT_REALS, 1.0)
        store(builder, builder.fdiv(one, builder.fadd(one, exponential)), out)
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, types.int64), generate


@intrinsic
def count_below(typing_context: Any, numbers: Any, count: Any, value: Any) -> Any:
    """Return how many of `count` times eight float32, from an address on, lie below a value.

    A search by halves takes fewer comparisons, but a processor guesses half of them wrong.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, count, value = arguments
        limit = spread(builder, value)
        total = cgutils.alloca_once_value(builder, constant(EIGHT_WORDS, 0))
        with cgutils.for_range(builder, count) as loop:
            some = load(builder, builder.add(numbers, builder.mul(loop.index, INTEGER(LANE_BYTES))), EIGHT)
            is_below = builder.zext(builder.fcmp_ordered("<", some, limit), EIGHT_WORDS)
            builder.store(builder.add(builder.load(total), is_below), total)
        kind = ir.FunctionType(INDEX, [EIGHT_WORDS])
        add = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.add.v8i32")
        return builder.zext(builder.call(add, [builder.load(total)]), INTEGER)

    return types.int64(types.int64, types.int64, types.float32), generate


@intrinsic
def merge_bits(typing_context: Any, goal: Any, source: Any, count: Any) -> Any:
    """Set in `goal` every bit that is set in `source`, over `count` times 32 bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        goal, source, count = arguments
        with cgutils.for_range(builder, count) as loop:
            place = builder.mul(loop.index, INTEGER(LANE_BYTES))
            there = builder.add(goal, place)
            both = builder.or_(
                load(builder, there, FOUR_INTEGERS), load(builder, builder.add(source, place), FOUR_INTEGERS)
            )
            store(builder, both, there)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate
