"""How the kernels are compiled."""

from __future__ import annotations

from numba import njit

__all__ = ["compiled", "compiled_fast"]

# Compiled at the first call and kept on disk. numba keys the file on the module that holds the function, not on what
# that calls: after editing a kernel, delete the __pycache__ folders. Division by zero gives infinity, as in numpy: the
# check that Python's rule needs costs more than the division.
compiled = njit(cache=True, error_model="numpy")

# The same, and sums may be taken in any order, so that long ones use vector registers.
compiled_fast = njit(cache=True, error_model="numpy", fastmath={"reassoc"})
