"""The values of a dict, read inside a kernel: one crossing from Python instead of a look-up, a packing and a call."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from stream_maxloss.rows.vectors import INTEGER, NUMBER, at

__all__ = ["python_object", "read_values"]


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


@intrinsic
def read_values(typing_context: Any, names: Any, x: Any, count: Any, goal: Any) -> Any:
    """Write the first `count` named values of a dict as float64 from the address `goal` on.

    `names` is a tuple, `x` a dict. Return whether all were there and are numbers; if not, some may have been written.
    A number is what `float` takes and is no text: Python's own C functions decide.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        names, x, count, goal = arguments
        python = context.get_python_api(builder)
        thing = python.pyobj

        def function(result: Any, parameters: list[Any], name: str) -> Any:
            return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, parameters), name)

        name_at = function(thing, [thing, python.py_ssize_t], "PyTuple_GetItem")
        find = function(thing, [thing, thing], "PyDict_GetItemWithError")
        done = cgutils.alloca_once_value(builder, cgutils.true_bit)

        def give_up(loop: Any) -> None:
            python.err_clear()
            builder.store(cgutils.false_bit, done)
            loop.do_break()

        with cgutils.for_range(builder, count) as loop:
            value = builder.call(find, [x, builder.call(name_at, [names, loop.index])])
            with builder.if_then(cgutils.is_null(builder, value), likely=False):
                give_up(loop)
            # A value whose __float__ is Python code could drop itself from the dict meanwhile.
            python.incref(value)
            number = python.float_as_double(value)
            python.decref(value)
            builder.store(number, at(builder, builder.add(goal, builder.mul(loop.index, INTEGER(8))), NUMBER))
            # -1 is also what stands for an error.
            with builder.if_then(builder.fcmp_ordered("==", number, NUMBER(-1.0)), likely=False):
                with builder.if_then(cgutils.is_not_null(builder, python.err_occurred()), likely=False):
                    give_up(loop)
        return builder.load(done)

    return types.boolean(python_object, python_object, types.int64, types.int64), generate
