"""Online learning on live streams when the rare, hard rows matter."""

from __future__ import annotations

__version__ = "0.1.0"
