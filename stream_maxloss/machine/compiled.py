"""Kernels that are compiled at their first call and kept on disk, and that load without numba's compiler.

A kernel may be a closure: over numbers and tuples, over plain functions that were wrapped by `inner`, and over whatever
those are closed over. What it is kept under is a digest of all the code that it can reach, so each specialisation has
a place of its own on disk, and an edit anywhere below a kernel compiles it anew.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

__all__ = ["KernelCache", "compiled", "fingerprint", "inlined", "inner", "inner_fast", "kept", "made_once", "unfolded"]

# These are numba's own affair: where a version has them no more, its way to load does.
CAN_LOAD_ALONE = all(hasattr(FunctionCache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors"))
# What an index on the disk raises if it names what is no more, or is cut off.
UNREADABLE = (AttributeError, EOFError, ImportError, IndexError, pickle.PickleError)
# Seconds of compiling from which on the user is told why nothing happens.
PATIENCE = 2.0

Made = TypeVar("Made")


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
        try:
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        except UNREADABLE:
            # Of a version whose modules have moved: what it kept is of no use, and is written anew.
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            notice.begin()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature; on a full disk it is compiled again next time."""
        with suppress(OSError):
            super().save_overload(sig, data)
        notice.end()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # numba's own key pickles what a closure holds, which differs from one process to the next.
        return sig, codegen.magic_tuple(), fingerprint(self._py_func)


class Notice:
    """Tells once, on standard error, that time goes into compiling, and lets garbage wait meanwhile."""

    def __init__(self) -> None:
        self.waited, self.depth, self.since, self.told = 0.0, 0, 0.0, False
        self.collects = False

    def begin(self) -> None:
        """Note that a kernel has to be compiled, perhaps for another that is being compiled."""
        if self.depth == 0:
            self.since = time.monotonic()
            # The compiler makes millions of objects that live as long as it does: a seventh of its time would go into
            # looking through them.
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1
        self._tell()

    def end(self) -> None:
        """Note that a kernel is compiled."""
        self._tell()
        self.depth = max(0, self.depth - 1)
        if self.depth == 0:
            self.waited += time.monotonic() - self.since
            if self.collects:
                gc.enable()

    def _tell(self) -> None:
        waited = self.waited + time.monotonic() - self.since
        if waited > PATIENCE and not self.told:
            self.told = True
            print("compiling kernels for this model (kept on disk for the next run)", file=sys.stderr)  # noqa: T201


notice = Notice()


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a digest of a function's code and of all functions and numbers that it can reach."""
    digest = hashlib.sha256()
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        thing = waiting.pop()
        # How it is compiled, for what was wrapped already.
        digest.update(repr(getattr(thing, "targetoptions", None)).encode())
        thing = plain_function(thing)
        if not isinstance(thing, FunctionType):
            digest.update(repr(thing).encode())
            continue
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        digest.update(f"{thing.__name__}{describe(thing.__code__)}".encode())
        waiting += reached(thing)
    return digest.hexdigest()[:16]


def plain_function(thing: Any) -> Any:
    """Return the Python function behind a kernel or an intrinsic, or the thing itself."""
    return getattr(thing, "py_func", getattr(thing, "_defn", thing))


def describe(code: CodeType) -> tuple[Any, ...]:
    """Return what a function does: its instructions and constants, without where they stand."""
    constants = [describe(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars


def reached(function: FunctionType) -> Iterator[Any]:
    """Yield the functions and numbers that a function refers to."""
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    names = function.__code__.co_names
    found = [function.__globals__.get(name) for name in names]
    # What a kernel takes from another module of ours by its dotted name.
    modules = [
        thing for thing in found if isinstance(thing, ModuleType) and thing.__name__.startswith("stream_maxloss")
    ]
    found += [vars(module).get(name) for module in modules for name in names]
    for thing in found:
        plain = plain_function(thing)
        if isinstance(thing, int | float | tuple | np.number) or (
            isinstance(plain, FunctionType) and not plain.__module__.startswith(("numba", "numpy", "llvmlite"))
        ):
            yield thing


# Held while kernels are made; making one may make others.
MAKING = threading.RLock()


def made_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Return a function that makes each kernel once, whatever number of threads need it first, and keeps it for ever.

    Of two threads that each made one, `functools.cache` would drop the first: its machine code would be gone while the
    other thread runs it.
    """
    made: dict[Any, Made] = {}

    @wraps(make)
    def find(*arguments: Any) -> Made:
        try:
            return made[arguments]
        except KeyError:
            with MAKING:
                if arguments not in made:
                    made[arguments] = make(*arguments)
                return made[arguments]

    return find


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for kernels: `numba.njit` with these options, kept on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        if getattr(function, "__closure__", None):
            # Two specialisations of one function must not share a symbol once both are loaded.
            function.__qualname__ += f"_{fingerprint(function)}"
        kernel = njit(**options)(function)
        if hasattr(kernel, "enable_caching"):  # not with NUMBA_DISABLE_JIT
            # In an interactive session numba finds no file that the function stands in.
            with suppress(RuntimeError):
                kernel._cache = KernelCache(function)
        return kernel

    return decorate


# Compiled at the first call. Division by zero gives infinity, as in numpy: the check that Python's rule needs costs
# more than the division. No kernel is handed to another as a value, which is what the wrapper for C is for.
compiled = kept(error_model="numpy", no_cfunc_wrapper=True)


def link_only(*arguments: Any) -> Any:
    """Return the compiler of a function that only kernels call; it is loaded when there is something to compile."""
    from stream_maxloss.machine.linked import LinkedCompiler

    return LinkedCompiler(*arguments)


# The same for what only other kernels call: without machine code of its own, and without the code that takes Python's
# objects apart, which for a function of many arrays takes longer to compile than the function.
inner = kept(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=link_only)

# And small ones in the innermost loops, where a call that LLVM does not dissolve by itself costs as much as the work.
inlined = kept(
    error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, pipeline_class=link_only
)

# And what is called from one place only, in large kernels: part of its caller from the start. A function of its own is
# optimised together with all that it calls, and so is each of its callers, up to the kernel.
unfolded = kept(error_model="numpy", inline="always")

# And where sums may be taken in any order, so that long ones use vector registers.
inner_fast = kept(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"reassoc"})
