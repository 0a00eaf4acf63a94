"""Several models at once, weighed by how well each has predicted."""

from __future__ import annotations

from stream_maxloss.experts.mixture import Mixture

__all__ = ["Mixture"]
