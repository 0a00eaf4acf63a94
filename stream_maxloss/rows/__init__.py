"""Rows in the form that the kernels take: values and columns, from a dict or from a frame."""

from __future__ import annotations

from stream_maxloss.rows.frame import Rows, read_frame
from stream_maxloss.rows.single import read_row

__all__ = ["Rows", "read_frame", "read_row"]
