"""What runs on the machines of a cluster: a process that hosts some shards."""

from __future__ import annotations

import os
import platform
import socket
import sys
import uuid
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss import __version__
from stream_maxloss.scale.shards.directory import read_head
from stream_maxloss.scale.shards.hosted import HostedShard

if TYPE_CHECKING:
    from stream_maxloss.scale.shards.job import Job, Shard
    from stream_maxloss.scale.shards.standing import Standing

__all__ = ["ShardWorker", "versions_here"]

STOP_SECONDS = 60.0


def versions_here() -> dict[str, str]:
    """Return the versions that driver and workers must share for a shard to have the same bits wherever it is."""
    names = ("river", "numpy", "numba", "pyarrow")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"stream-maxloss": __version__, "python": python, **{name: metadata.version(name) for name in names}}


class ShardWorker:
    """Hosts shards, each in a thread of its own. Ray makes an actor of it, and makes it anew when it dies.

    The driver says which shards it hosts, in full and as often as it likes: what it hosts already goes on.

    Parameters
    ----------
    job
        What the shards are of.

    """

    def __init__(self, job: Job) -> None:
        warnings.simplefilter("ignore")  # of an outage, say: the driver counts retries
        self.job = job
        # From the disk that all share: what an actor is made with should be small, since it is made again.
        self.head = read_head(Path(job.directory))
        self.incarnation = uuid.uuid4().hex
        self._hosted: dict[str, HostedShard] = {}

    def describe(self) -> dict[str, Any]:
        """Return who it is, and load what the source needs, so that what is missing is known at once."""
        from stream_maxloss_connectors import source_class

        source_class(self.job.source, bool(self.job.source_options.get("follow")))
        if str(self.job.source).startswith("kafka://"):
            from stream_maxloss_connectors.kafka.client import load_client

            load_client("reading from Kafka")
        where = f"{socket.gethostname()} ({platform.machine()})"
        return {"versions": versions_here(), "where": where, "pid": os.getpid()}

    def host(self, shards: Sequence[Shard]) -> list[str]:
        """Host these shards and no others; return the names of those that would not stop in time."""
        wanted = {shard.name: shard for shard in shards}
        leaving = [name for name in self._hosted if name not in wanted]
        for name in leaving:
            self._hosted[name].requests.stopped = True
        stuck = [name for name in leaving if not self._hosted[name].stop(STOP_SECONDS)]
        for name in set(leaving) - set(stuck):
            del self._hosted[name]
        for name, shard in wanted.items():
            if name not in self._hosted:
                self._hosted[name] = HostedShard(self.job, shard, self.head)
                self._hosted[name].start()
        return stuck

    def stand(self) -> tuple[str, int, list[Standing]]:
        """Return which process this is, and how each of its shards stands."""
        return self.incarnation, os.getpid(), [hosted.standing for hosted in self._hosted.values()]

    def stop(self) -> list[Standing]:
        """Let all shards write a checkpoint and end; return how they stand."""
        for hosted in self._hosted.values():
            hosted.requests.stopped = True
        for hosted in self._hosted.values():
            hosted.stop(STOP_SECONDS)
        return [hosted.standing for hosted in self._hosted.values()]
