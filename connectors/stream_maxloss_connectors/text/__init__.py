"""CSV, JSON lines and svmlight: where their records lie, and how they become rows."""

from __future__ import annotations
