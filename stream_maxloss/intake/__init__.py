"""Columns as they come, turned into features: dates, text, nested rows, lists, decimals, durations."""

from __future__ import annotations

from stream_maxloss.intake.intake import Intake
from stream_maxloss.intake.plan import ColumnPlan
from stream_maxloss.intake.types import parse_schema

__all__ = ["ColumnPlan", "Intake", "parse_schema"]
