"""Kernels that are compiled at their first call and kept on disk, and that load without numba's compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

__all__ = ["KernelCache", "kept"]

# These are numba's own affair: where a version has them no more, its way to load does.
CAN_LOAD_ALONE = all(hasattr(FunctionCache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors"))


class KernelCache(FunctionCache):
    """numba's cache, which looks on disk before it gets the compiler ready rather than after.

    A kernel from the disk is machine code: it needs numba's runtime, and none of the tables of types and of code
    generators that numba imports before it looks. They take longer than all else at the start of a short run, and a
    kernel that has to be compiled loads them then.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        if not CAN_LOAD_ALONE:
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for kernels: `numba.njit` with these options, kept on disk.

    numba keys the file on the module that holds the function, not on what that calls: after editing a kernel, delete
    the `__pycache__` folders.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(**options)(function)
        if hasattr(kernel, "enable_caching"):  # not with NUMBA_DISABLE_JIT
            kernel._cache = KernelCache(function)
        return kernel

    return decorate
