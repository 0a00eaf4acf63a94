"""How the kernels are compiled."""

from __future__ import annotations

from stream_maxloss.kernel_cache import kept

__all__ = ["compiled", "inner", "inner_fast"]

# Compiled at the first call and kept on disk. numba keys the file on the module that holds the function, not on what
# that calls: after editing a kernel, delete the __pycache__ folders. Division by zero gives infinity, as in numpy: the
# check that Python's rule needs costs more than the division.
compiled = kept(error_model="numpy")

# The same for what only other kernels call: without the code that takes Python's objects apart, which for a function of
# many arrays takes longer to compile than the function.
inner = kept(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

# And where sums may be taken in any order, so that long ones use vector registers.
inner_fast = kept(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"reassoc"})
