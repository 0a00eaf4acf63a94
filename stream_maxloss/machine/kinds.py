"""The kinds of numbers that kernels take: names for the signatures of entry points and the entries of tables."""

from __future__ import annotations

from numba.types import boolean, float32, float64, int32, int64, uint8, uint16, uint64

__all__ = ["boolean", "float32", "float64", "int32", "int64", "uint8", "uint16", "uint64"]
