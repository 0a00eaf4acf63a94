"""The values of a dict, read inside a kernel: one crossing from Python instead of a look-up, a packing and a call."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from stream_maxloss.rows.vectors import INTEGER, NUMBER, at

__all__ = ["python_object", "read_values"]

# Where Python's float object keeps its type and its number, which Python's own macros read as well. Other builds (free
# threads, debugging) have longer heads; there every number is asked for by a call.
HAS_SHORT_HEADS = object.__basicsize__ == 16 and float.__basicsize__ == 24
TYPE_OFFSET = 8
NUMBER_OFFSET = 16


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

    def convert(self, value: Any, goal: Any, loop: Any) -> None:
        """Write whatever Python's `float` makes of a value, or give up."""
        builder, python = self.builder, self.python
        # A value whose __float__ is Python code could drop itself from the dict meanwhile.
        python.incref(value)
        number = python.float_as_double(value)
        python.decref(value)
        builder.store(number, goal)
        # -1 is also what stands for an error.
        with (
            builder.if_then(builder.fcmp_ordered("==", number, NUMBER(-1.0)), likely=False),
            builder.if_then(cgutils.is_not_null(builder, python.err_occurred()), likely=False),
        ):
            self.give_up(loop)

    def take(self, value: Any, goal: Any, loop: Any) -> None:
        """Write the number of a float as it lies, and convert anything else."""
        builder = self.builder
        if not HAS_SHORT_HEADS:
            self.convert(value, goal, loop)
            return
        address = builder.ptrtoint(value, INTEGER)
        kind = builder.load(at(builder, builder.add(address, INTEGER(TYPE_OFFSET)), INTEGER))
        is_float = builder.icmp_signed("==", kind, builder.ptrtoint(self.python.get_c_object("PyFloat_Type"), INTEGER))
        with builder.if_else(is_float, likely=True) as (plain, other):
            with plain:
                number = builder.load(at(builder, builder.add(address, INTEGER(NUMBER_OFFSET)), NUMBER))
                builder.store(number, goal)
            with other:
                self.convert(value, goal, loop)


@intrinsic
def read_values(typing_context: Any, names: Any, x: Any, count: Any, goal: Any) -> Any:
    """Write the `count` named values of a dict as float64 from the address `goal` on.

    `names` is a tuple. Return whether `x` is a dict with these names and no other, and all values are numbers; if not,
    some may have been written. A number is what `float` takes and is no text: Python's own C functions decide.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        names, x, count, goal = arguments
        reader = Reader(context, builder)
        # -1 for what is no dict.
        size = reader.call("PyDict_Size", INTEGER, x)
        with builder.if_else(builder.icmp_signed("==", size, count), likely=True) as (fits, fails):
            with fits, cgutils.for_range(builder, count) as loop:
                name = reader.call("PyTuple_GetItem", names.type, names, loop.index)
                value = reader.call("PyDict_GetItemWithError", names.type, x, name)
                with builder.if_then(cgutils.is_null(builder, value), likely=False):
                    reader.give_up(loop)
                place = builder.add(goal, builder.mul(loop.index, INTEGER(8)))
                reader.take(value, at(builder, place, NUMBER), loop)
            with fails:
                reader.python.err_clear()
                builder.store(cgutils.false_bit, reader.is_done)
        return builder.load(reader.is_done)

    return types.boolean(python_object, python_object, types.int64, types.int64), generate
