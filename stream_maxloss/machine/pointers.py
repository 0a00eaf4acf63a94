"""Numbers at an address: kernels that take addresses compile in half the time of those that take arrays.

An address is a plain whole number and keeps nothing alive. Whoever calls a kernel with one holds the array meanwhile,
and no kernel calls Python between taking an address and its last use of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = [
    "address_of",
    "capsule_pointer",
    "load",
    "load_integer",
    "load_short",
    "load_word",
    "move_bytes",
    "store",
    "store_integer",
    "store_short",
    "store_word",
]


def address_of(array: NDArray[Any]) -> int:
    """Return where an array's numbers begin; good for as long as the caller holds the array."""
    try:
        # A tenth of the time of `array.ctypes`, but not for arrays that are read-only or empty.
        return ctypes.addressof(first_byte(array))
    except (BufferError, TypeError, ValueError):
        return address_of_any(array)


first_byte: Any = ctypes.c_char.from_buffer


def address_of_any(array: NDArray[Any]) -> int:
    """Return the same for an array that is read-only or empty, too."""
    if not array.flags.c_contiguous:
        raise ValueError(f"an array must lie in one piece, got strides {array.strides}; copy it first")
    return int(array.ctypes.data)


move_bytes: Any = ctypes.memmove
"""move_bytes(goal, source, count) copies what lies at an address to another one."""

capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
"""The address that a capsule of this name holds, as those of Arrow's C data interface; good while it is held."""


def make_load(kind: Any, stored: Any, extend: str | None = None) -> Callable[..., Any]:
    """Return the intrinsic load(address, k) of the k-th number of a kind."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, place = arguments
        # Through a pointer and not by adding to the address: loops over places then use vector registers.
        number = builder.load(builder.gep(builder.inttoptr(address, stored.as_pointer()), [place]))
        return getattr(builder, extend)(number, ir.IntType(64)) if extend else number

    @intrinsic
    def read(typing_context: Any, address: Any, place: Any) -> Any:
        return kind(types.int64, types.int64), generate

    return read


def make_store(kind: Any, stored: Any, narrows: bool = False) -> Callable[..., Any]:
    """Return the intrinsic store(address, k, value) of the k-th number of a kind."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, place, value = arguments
        value = builder.trunc(value, stored) if narrows else value
        builder.store(value, builder.gep(builder.inttoptr(address, stored.as_pointer()), [place]))
        return context.get_dummy_value()

    @intrinsic
    def write(typing_context: Any, address: Any, place: Any, value: Any) -> Any:
        return types.void(types.int64, types.int64, kind), generate

    return write


load, store = make_load(types.float64, ir.DoubleType()), make_store(types.float64, ir.DoubleType())
load_integer, store_integer = make_load(types.int64, ir.IntType(64)), make_store(types.int64, ir.IntType(64))
load_word, store_word = make_load(types.uint64, ir.IntType(64)), make_store(types.uint64, ir.IntType(64))
# 32 bits in memory, 64 in a kernel.
load_short = make_load(types.int64, ir.IntType(32), "sext")
store_short = make_store(types.int64, ir.IntType(32), narrows=True)
