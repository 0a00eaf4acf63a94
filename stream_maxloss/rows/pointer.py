"""Columns by their addresses, for kernels that take any number of them."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["pointer_to_floats"]


@intrinsic
def pointer_to_floats(typing_context: Any, address: Any) -> Any:
    """Return an address as a pointer to float64: an array of addresses is one argument, arrays cost 80 ns each."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), generate
