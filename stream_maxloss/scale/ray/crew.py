"""The workers of a job: started, asked, replaced, and told which shards they host."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stream_maxloss.errors import MissingExtraError, SourceError, StreamMaxlossError
from stream_maxloss.scale.ray.worker import ShardWorker, versions_here

if TYPE_CHECKING:
    from stream_maxloss.scale.shards.job import Job, Shard
    from stream_maxloss.scale.shards.standing import Standing

__all__ = ["Crew"]

PLACE_SECONDS = 120.0
"""How long the cluster may take to find room for all workers."""

ANSWER_SECONDS = 30.0
"""How long a worker may take to answer before it is taken for lost."""

HOST_SECONDS = 90.0


class Member:
    """One worker as the driver knows it."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.incarnation = ""
        self.pid = 0
        self.answered = time.monotonic()
        self.asked: Any = None


class Crew:
    """The workers of a job. Ray starts one that dies again, and what it has hosted is given back to it here.

    Parameters
    ----------
    ray
        Ray, connected.
    job, shards
        What is to be hosted.
    cpus
        What a worker asks the cluster for.
    say
        Called with a line about what happens.

    """

    def __init__(
        self,
        ray: Any,
        job: Job,
        shards: Sequence[Shard],
        cpus: float,
        say: Callable[[str], None],
    ) -> None:
        self._ray = ray
        self._job = job
        self._shards = {shard.name: shard for shard in shards}
        self._cpus = cpus
        self._say = say
        self._members: list[Member] = []
        self._dealt: dict[str, int] = {}
        self.standings: dict[str, Standing] = {}
        self.lost = 0

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers, each on its own machine."""
        return [member.pid for member in self._members]

    @property
    def dealt(self) -> Mapping[str, int]:
        """Which worker hosts which shard."""
        return self._dealt

    def resize(self, workers: int) -> None:
        """Have so many workers, and deal the shards among them: those that move take their checkpoints along."""
        before = len(self._members)
        new = [self._start() for _ in range(workers - before)]
        self._require_alike(new)
        self._members += new
        dealt = deal(list(self._shards), workers, self._dealt)
        moving = {name for name, worker in dealt.items() if self._dealt.get(name, worker) != worker}
        # First everybody lets go, then everybody takes up: no shard waits for the lock of another process.
        staying = {name: worker for name, worker in self._dealt.items() if name not in moving}
        if moving:
            self._tell(staying)
        for member in self._members[workers:]:
            self._ray.kill(member.actor)
        del self._members[workers:]
        self._dealt = dealt
        self._tell(dealt)
        if before and workers != before:
            self._say(f"{before} workers became {workers}; {len(moving)} of {len(self._shards)} shards moved")

    def look(self, seconds: float) -> None:
        """Ask all workers how their shards stand; replace those that have died or do not answer."""
        for member in self._members:
            if member.asked is None:
                member.asked = member.actor.stand.remote()
        self._ray.wait([member.asked for member in self._members], num_returns=len(self._members), timeout=seconds)
        for place, member in enumerate(self._members):
            ready, _ = self._ray.wait([member.asked], timeout=0)
            if ready:
                self._take(place, member)
            elif time.monotonic() - member.answered > ANSWER_SECONDS:
                self._replace(place, f"has not answered for {ANSWER_SECONDS:g} s")

    def _take(self, place: int, member: Member) -> None:
        asked, member.asked = member.asked, None
        try:
            incarnation, member.pid, standings = self._ray.get(asked)
        except self._ray.exceptions.ActorUnavailableError:
            return  # it is being started again
        except self._ray.exceptions.RayError as error:
            if isinstance(error, self._ray.exceptions.RayTaskError):
                raise
            self._replace(place, "has died")
            return
        member.answered = time.monotonic()
        if incarnation != member.incarnation:
            if member.incarnation:
                self._say(f"worker {place} died and was started again; its shards go on from their checkpoints")
                self.lost += 1
            member.incarnation = incarnation
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._call(member, self._names(place))
            return
        for standing in standings:
            if self._dealt.get(standing.name) == place:
                before = self.standings.get(standing.name)
                if standing.retries > (0 if before is None else before.retries):
                    self._say(f"{standing.name} goes on from its checkpoint: {standing.trouble}")
                self.standings[standing.name] = standing

    def _replace(self, place: int, why: str) -> None:
        """Put a new worker in place of one; its process is killed first, so that the locks of its shards go."""
        self._say(f"worker {place} {why}; another takes its place")
        self.lost += 1
        with contextlib.suppress(Exception):
            self._ray.kill(self._members[place].actor)
        member = self._start()
        self._members[place] = member

    def _start(self) -> Member:
        kind = self._ray.remote(ShardWorker)
        actor = kind.options(num_cpus=self._cpus, max_restarts=-1, scheduling_strategy="SPREAD")
        return Member(actor.remote(self._job))

    def _require_alike(self, members: Sequence[Member]) -> None:
        """Wait for new workers, and refuse those that cannot do what is asked, or not in the same bits."""
        asked = [member.actor.describe.remote() for member in members]
        ready, _ = self._ray.wait(asked, num_returns=max(len(asked), 1), timeout=PLACE_SECONDS) if asked else ([], [])
        if len(ready) < len(asked):
            raise SourceError(
                f"the cluster must have room for {len(asked)} more workers, got it for {len(ready)} within "
                f"{PLACE_SECONDS:g} s; add machines, or ask for fewer --workers"
            )
        ours = versions_here()
        for found in (self._described(one) for one in asked):
            for name, version in found["versions"].items():
                if version != ours.get(name):
                    raise SourceError(
                        f"workers must run the driver's {name} {ours.get(name)}, got {version} on {found['where']}; "
                        "install the same everywhere"
                    )

    def _described(self, asked: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._ray.get(asked)
            return found
        except self._ray.exceptions.RayError as error:
            raise as_ours(error, "a worker could not start") from error

    def _tell(self, dealt: Mapping[str, int]) -> None:
        """Let every worker host what is dealt to it; one that is lost meanwhile is told when it is back."""
        for place, member in enumerate(self._members):
            names = [name for name, worker in dealt.items() if worker == place]
            try:
                stuck = self._call(member, names)
            except self._ray.exceptions.RayError:
                self._ray.kill(member.actor, no_restart=False)  # what it holds must be let go
                continue
            if stuck:
                self._ray.kill(member.actor, no_restart=False)

    def _call(self, member: Member, names: Sequence[str]) -> Any:
        shards = [self._shards[name] for name in names]
        if not member.incarnation:
            member.incarnation, member.pid, _ = self._ray.get(member.actor.stand.remote(), timeout=ANSWER_SECONDS)
        return self._ray.get(member.actor.host.remote(shards), timeout=HOST_SECONDS)

    def _names(self, place: int) -> list[str]:
        return [name for name, worker in self._dealt.items() if worker == place]

    def stop(self) -> None:
        """Let all shards write their last checkpoint, and note how they stand."""
        asked = [member.actor.stop.remote() for member in self._members]
        for one in asked:
            with contextlib.suppress(self._ray.exceptions.RayError):
                for standing in self._ray.get(one, timeout=HOST_SECONDS):
                    self.standings[standing.name] = standing


def as_ours(error: Exception, what: str) -> StreamMaxlossError:
    """Return an error of Ray as one line of ours; one of ours that a worker has raised comes back as itself."""
    cause: BaseException | None = getattr(error, "cause", None)
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, StreamMaxlossError):
            return seen
        cause = getattr(seen, "cause", None) or seen.__cause__
        seen = cause
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line.split(":")[0]] or lines or [type(error).__name__]
    if "stream_maxloss" in telling[-1] and "No module" in telling[-1]:
        return MissingExtraError("a worker of the cluster", "ray")
    return SourceError(f"{what}: {telling[-1][:300]}; install the same packages on every machine of the cluster")


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
    >>> from stream_maxloss.scale.ray.crew import deal
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
