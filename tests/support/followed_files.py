"""Numbered rows in files that grow, and what a follower reads of them."""

from __future__ import annotations

import json

from stream_maxloss_connectors.follow.source import FollowedSource


def lines(*numbers):
    return b"".join(b'{"n": %d}\n' % n for n in numbers)


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def drain(source):
    rows = []
    while (batch := source.next_batch(1000, 0.0)) is not None:
        rows += batch.records.to_pylist()
    return rows


def numbers(source):
    return [int(row["n"]) for row in drain(source)]


def follow(path, **options):
    source = FollowedSource(path, **{"rotate_wait": 0.0, **options})
    source.open()
    return source


def reopen(source, path, **options):
    position = json.loads(json.dumps(source.position()))
    source.close()
    again = FollowedSource(path, **{"rotate_wait": 0.0, **options})
    again.open(position)
    return again
