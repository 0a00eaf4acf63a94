"""What the page shows, from whoever runs the model to whoever looks."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["Bulletin"]


class Bulletin:
    """The newest snapshot of a run; one thread puts it up and any may read it.

    Examples
    --------
    >>> from stream_maxloss.serve.bulletin import Bulletin
    >>> bulletin = Bulletin()
    >>> bulletin.publish({"rows": 7})
    >>> bulletin.number, bulletin.snapshot["rows"]
    (1, 7)

    """

    def __init__(self) -> None:
        self.number = 0
        self.born = time.time()
        self.snapshot: dict[str, Any] = {}

    def publish(self, snapshot: dict[str, Any]) -> None:
        """Put up a new one, which nobody changes any more."""
        self.snapshot = snapshot
        self.number += 1
