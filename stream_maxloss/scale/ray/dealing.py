"""Which worker hosts which shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["deal"]


def deal(shards: Sequence[str], workers: int, before: Mapping[str, int]) -> dict[str, int]:
    """Return the worker of each shard: evenly, and with as few moves as that allows.

    Parameters
    ----------
    shards
        Names of the shards.
    workers
        How many workers there are.
    before
        Where shards are now; a worker that is gone is one whose number is too high.

    Examples
    --------
    >>> from stream_maxloss.scale.ray.dealing import deal
    >>> two = deal(["a", "b", "c", "d"], 2, {})
    >>> two
    {'a': 0, 'b': 1, 'c': 0, 'd': 1}
    >>> deal(["a", "b", "c", "d"], 3, two)
    {'a': 0, 'b': 1, 'c': 0, 'd': 2}

    """
    least, more = divmod(len(shards), workers)
    room = [0] * workers
    found: dict[str, int] = {}
    for name in shards:
        worker = before.get(name, workers)
        # The first `more` workers that reach the larger size keep it.
        if worker < workers and room[worker] < least + (1 if sum(load > least for load in room) < more else 0):
            found[name] = worker
            room[worker] += 1
    for name in shards:
        if name not in found:
            found[name] = min(range(workers), key=lambda worker: (room[worker], worker))
            room[found[name]] += 1
    return {name: found[name] for name in shards}
