"""The values of a dict, read inside a kernel: one crossing from Python instead of a look-up, a packing and a call."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from stream_maxloss.machine.vectors import INTEGER, NUMBER, at

__all__ = ["PLAIN_NUMBERS", "integer_of", "python_object", "read_values"]

# Where Python's objects keep their type and floats their number, which Python's own macros read as well. Other builds
# (free threads, debugging) have longer heads, with the same at their ends.
TYPE_OFFSET = object.__basicsize__ - 8
NUMBER_OFFSET = float.__basicsize__ - 8

# Kinds whose numbers C code alone gives: no value of them can call back into Python. All else is read in Python.
WHOLE_NUMBERS = (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
PLAIN_NUMBERS = frozenset((int, bool, np.bool_, np.float64, np.float32, np.float16, *WHOLE_NUMBERS))


class PythonObject(types.Type):
    """Any Python object, which kernels only hand on to Python's own C functions."""

    def __init__(self) -> None:
        super().__init__(name="PythonObject")


python_object = PythonObject()
register_model(PythonObject)(models.OpaqueModel)


@unbox(PythonObject)
def unbox_object(kind: Any, thing: Any, context: Any) -> Any:
    """Take the object as it is; the caller holds it."""
    return NativeValue(thing)


class Reader:
    """Writes the instructions of `read_values`."""

    def __init__(self, context: Any, builder: Any) -> None:
        self.builder = builder
        self.python = context.get_python_api(builder)
        self.is_done = cgutils.alloca_once_value(builder, cgutils.true_bit)

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call a function of Python's C interface."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)

    def give_up(self, loop: Any) -> None:
        """Leave the loop and say so."""
        self.python.err_clear()
        self.builder.store(cgutils.false_bit, self.is_done)
        loop.do_break()

    def convert(self, value: Any, goal: Any, loop: Any, kind: Any, plain: Any) -> None:
        """Write the number of a plain kind of number, which takes no Python code, or give up."""
        builder, python = self.builder, self.python
        known = self.call("PySet_Contains", ir.IntType(32), plain, builder.inttoptr(kind, plain.type))
        with builder.if_else(builder.icmp_signed("==", known, ir.IntType(32)(1)), likely=True) as (is_plain, other):
            with is_plain:
                number = python.float_as_double(value)
                builder.store(number, goal)
                # -1 is also what stands for an error, as for a whole number beyond the range of floats.
                with (
                    builder.if_then(builder.fcmp_ordered("==", number, NUMBER(-1.0)), likely=False),
                    builder.if_then(cgutils.is_not_null(builder, python.err_occurred()), likely=False),
                ):
                    self.give_up(loop)
            with other:
                self.give_up(loop)

    def take(self, value: Any, goal: Any, loop: Any, plain: Any) -> None:
        """Write the number of a float as it lies, and convert other plain numbers."""
        builder = self.builder
        address = builder.ptrtoint(value, INTEGER)
        kind = builder.load(at(builder, builder.add(address, INTEGER(TYPE_OFFSET)), INTEGER))
        is_float = builder.icmp_signed("==", kind, builder.ptrtoint(self.python.get_c_object("PyFloat_Type"), INTEGER))
        with builder.if_else(is_float, likely=True) as (exact, other):
            with exact:
                number = builder.load(at(builder, builder.add(address, INTEGER(NUMBER_OFFSET)), NUMBER))
                builder.store(number, goal)
            with other:
                self.convert(value, goal, loop, kind, plain)


@intrinsic
def integer_of(typing_context: Any, things: Any, place: Any) -> Any:
    """Return a whole number out of a tuple of Python objects."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        things, place = arguments
        reader = Reader(context, builder)
        number = reader.call("PyTuple_GetItem", things.type, things, place)
        return reader.call("PyLong_AsLongLong", INTEGER, number)

    return types.int64(python_object, types.int64), generate


@intrinsic
def read_values(typing_context: Any, names: Any, first: Any, x: Any, count: Any, goal: Any) -> Any:
    """Write the `count` named values of a dict as float64 from the address `goal` on.

    `names` is a tuple: the names stand from `first` on, before them the set of kinds that are plain numbers. Return
    whether `x` is a dict with these names and no other, and all values are floats or of those kinds; if not, some may
    have been written. No method of a value is ever called that is written in Python.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        names, first, x, count, goal = arguments
        reader = Reader(context, builder)
        # -1 for what is no dict.
        size = reader.call("PyDict_Size", INTEGER, x)
        plain = reader.call("PyTuple_GetItem", names.type, names, builder.sub(first, INTEGER(1)))
        with builder.if_else(builder.icmp_signed("==", size, count), likely=True) as (fits, fails):
            with fits, cgutils.for_range(builder, count) as loop:
                name = reader.call("PyTuple_GetItem", names.type, names, builder.add(first, loop.index))
                value = reader.call("PyDict_GetItemWithError", names.type, x, name)
                with builder.if_then(cgutils.is_null(builder, value), likely=False):
                    reader.give_up(loop)
                place = builder.add(goal, builder.mul(loop.index, INTEGER(8)))
                reader.take(value, at(builder, place, NUMBER), loop, plain)
            with fails:
                reader.python.err_clear()
                builder.store(cgutils.false_bit, reader.is_done)
        return builder.load(reader.is_done)

    return types.boolean(python_object, types.int64, python_object, types.int64, types.int64), generate
