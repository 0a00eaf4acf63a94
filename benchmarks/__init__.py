"""Side by side: what this library costs, against the systems people use today."""

from __future__ import annotations
