"""A sample of the keys of a shard by which two shards can tell whether they share some."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["KeySample", "shared_keys"]

SIZE = 1024


class KeySample:
    """The keys with the smallest numbers that a shard has seen, at most `size` of them.

    Two shards with samples of the same numbers have kept the same keys, if they have both: all of them up to `size`
    keys, and beyond that those below the lower of the two largest numbers. So a topic that is not partitioned by a
    column at all is found out at once, and a single stray key with the probability `size / keys`.

    Parameters
    ----------
    size
        Most keys to keep. It goes along in every checkpoint, in some twenty bytes a key.

    Examples
    --------
    >>> from stream_maxloss.scale.shards.keys import KeySample, shared_keys
    >>> first, second = KeySample(), KeySample()
    >>> first.add([(5, "ann"), (9, "bob")])
    >>> second.add([(7, "cid"), (9, "bob")])
    >>> shared_keys([first.state_dict(), second.state_dict()])
    {'bob': [0, 1]}

    """

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self._keys: dict[int, str] = {}
        self._largest: list[int] = []  # a heap of negative numbers

    def add(self, keys: Iterable[tuple[int, str]]) -> None:
        """Note keys with their numbers."""
        for number, name in keys:
            if number in self._keys or (len(self._keys) >= self.size and number >= -self._largest[0]):
                continue
            self._keys[number] = name
            heapq.heappush(self._largest, -number)
            if len(self._keys) > self.size:
                del self._keys[-heapq.heappop(self._largest)]

    def state_dict(self) -> dict[str, Any]:
        """Return the sample as plain values."""
        return {"numbers": [str(number) for number in self._keys], "names": list(self._keys.values())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a sample."""
        numbers, names = [int(text) for text in state["numbers"]], [str(name) for name in state["names"]]
        self._keys = dict(zip(numbers, names, strict=True))
        self._largest = [-number for number in self._keys]
        heapq.heapify(self._largest)


def shared_keys(samples: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the keys that more than one sample has, each with which samples those are."""
    found: dict[str, list[int]] = {}
    for place, sample in enumerate(samples):
        for name in sample["names"]:
            found.setdefault(name, []).append(place)
    return {name: places for name, places in found.items() if len(places) > 1}
