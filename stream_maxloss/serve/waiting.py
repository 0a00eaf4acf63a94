"""Rows that were predicted and wait for their labels, found again by their id."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import orjson

from stream_maxloss.errors import UsageError

__all__ = ["Waiting"]


class Waiting:
    """Rows by id, at most so many and for so long; what came of labels is counted.

    Changed only by what stands in the log, with the times that stand there: so a service that is started again has the
    rows that it had.

    Parameters
    ----------
    target
        The label's column.
    identity
        The column of ids.
    seconds
        How long a row waits.
    capacity
        How many rows wait at most; then the oldest one gives way.

    Examples
    --------
    >>> from stream_maxloss.serve.waiting import Waiting
    >>> waiting = Waiting("paid", "order", seconds=60.0, capacity=1000)
    >>> waiting.keep([{"order": "a-17", "amount": 30}], [{"prediction": False}], now=0.0)
    >>> waiting.join({"order": "a-17", "paid": True}, now=5.0)
    (b'{"order":"a-17","amount":30,"paid":true}', {'prediction': False}, None)
    >>> waiting.join({"order": "a-17", "paid": True}, now=6.0)
    (None, None, "id 'a-17' has its label already; each row is learned once")

    """

    def __init__(self, target: str, identity: str, seconds: float, capacity: int) -> None:
        self.target = target
        self.identity = identity
        self.seconds = seconds
        self.capacity = capacity
        self.counts = {"joined": 0, "unknown": 0, "doubled": 0, "expired": 0, "dropped": 0}
        self._rows: OrderedDict[str, tuple[float, dict[str, Any], dict[str, Any] | None]] = OrderedDict()
        self._labelled: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def keep(self, rows: list[dict[str, Any]], said: list[dict[str, Any] | None], now: float) -> None:
        """Let rows wait, with what was said of each; one with the id of another takes its place."""
        for row, answer in zip(rows, said, strict=True):
            identity = text_of(row[self.identity])
            self._rows.pop(identity, None)
            self._labelled.pop(identity, None)
            self._rows[identity] = (now, row, answer)
        while len(self._rows) > self.capacity:
            self._rows.popitem(last=False)
            self.counts["dropped"] += 1
        while self._rows and now - next(iter(self._rows.values()))[0] > self.seconds:
            self._rows.popitem(last=False)
            self.counts["expired"] += 1

    def join(self, label: dict[str, Any], now: float) -> tuple[bytes | None, dict[str, Any] | None, str | None]:
        """Return the row that a label belongs to, with the label, as JSON, and what was said of it; or the reason."""
        identity = text_of(label[self.identity])
        if identity not in self._rows:
            doubled = identity in self._labelled
            self.counts["doubled" if doubled else "unknown"] += 1
            if doubled:
                return None, None, f"id {identity!r} has its label already; each row is learned once"
            wanted = f"id {identity!r} must be one that was predicted within {self.seconds:g} s"
            return None, None, f"{wanted}, got no such row"
        since, row, said = self._rows.pop(identity)
        if now - since > self.seconds:
            self.counts["expired"] += 1
            return (
                None,
                None,
                f"id {identity!r} must get its label within {self.seconds:g} s, got it after {now - since:.0f} s",
            )
        self.counts["joined"] += 1
        self._labelled[identity] = None
        while len(self._labelled) > self.capacity:
            self._labelled.popitem(last=False)
        return orjson.dumps({**row, self.target: label[self.target]}), said, None

    def require_id(self, identity: Any) -> None:
        """Raise UsageError unless an id is a short text or a whole number."""
        text_of(identity)

    def require_label(self, value: Any) -> dict[str, Any]:
        """Return a label that has an id and a value.

        Raises
        ------
        UsageError
            If it has not.

        """
        if not isinstance(value, dict) or not {self.identity, self.target} <= set(value):
            raise UsageError(
                f"a label must be an object with {self.identity!r} and {self.target!r}, got {value!r:.200}"
            )
        text_of(value[self.identity])
        return {self.identity: value[self.identity], self.target: value[self.target]}

    def state_dict(self) -> dict[str, Any]:
        """Return the rows as plain values."""
        rows = [[identity, since, row, said] for identity, (since, row, said) in self._rows.items()]
        return {"rows": rows, "labelled": list(self._labelled), "counts": self.counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        # Rows of older checkpoints come without what was said of them.
        self._rows = OrderedDict(
            (str(name), (float(since), dict(row), dict(said[0]) if said and said[0] is not None else None))
            for name, since, row, *said in state["rows"]
        )
        self._labelled = OrderedDict.fromkeys(map(str, state["labelled"]))
        self.counts |= {name: int(state["counts"][name]) for name in self.counts}


def text_of(identity: Any) -> str:
    """Return an id as text: 17 and "17" are one."""
    if isinstance(identity, bool) or not isinstance(identity, str | int) or len(str(identity)) > 200:
        raise UsageError(f"an id must be a text of at most 200 characters or a whole number, got {identity!r:.200}")
    return str(identity)
