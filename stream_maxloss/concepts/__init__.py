"""Mistake-bound learners over concepts, and the conversions that make a mistake bound useful."""

from __future__ import annotations

from stream_maxloss.concepts.conservative import Conservative
from stream_maxloss.concepts.consistent import Consistent
from stream_maxloss.concepts.elimination import Elimination
from stream_maxloss.concepts.halving import Halving
from stream_maxloss.concepts.pac import Certificate, OnlineToPAC, sample_size, stage_length
from stream_maxloss.concepts.stump import Stump
from stream_maxloss.concepts.version_space import ContradictionError

__all__ = [
    "Certificate",
    "Conservative",
    "Consistent",
    "ContradictionError",
    "Elimination",
    "Halving",
    "OnlineToPAC",
    "Stump",
    "sample_size",
    "stage_length",
]
