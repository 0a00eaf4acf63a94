"""What every shard of a job does, and how a job is cut into shards."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.errors import SourceError, UsageError
from stream_maxloss.run.columns import Columns
from stream_maxloss.run.metrics import make_metrics
from stream_maxloss.run.task import HEAD_ROWS
from stream_maxloss.run.texts import TextValues
from stream_maxloss.run.words import parse_bad_records
from stream_maxloss.scale.shards.keys import KeySample
from stream_maxloss.scale.shards.scores import require_additive
from stream_maxloss.scale.shards.source import ShardSource

if TYPE_CHECKING:
    import pyarrow as pa

    from stream_maxloss.run.tail import Tail
    from stream_maxloss_connectors import BadRecords, Source

__all__ = ["Job", "Shard"]

WAIT = 5.0
"""Seconds to wait for the first rows of a topic."""


@dataclass(frozen=True)
class Shard:
    """One of the parts of a job that can be hosted anywhere: some rows of the source, with their model.

    Parameters
    ----------
    number
        Which one, from 0.
    partition
        The partition that it reads; None where the rows of files are dealt by their key.
    buckets
        How many shards share the keys of files.

    """

    number: int
    partition: int | None = None
    buckets: int = 1

    @property
    def name(self) -> str:
        """Name of its directory."""
        return f"shard-{self.number:04d}"


@dataclass(frozen=True)
class Job:
    """A run that is cut into shards. Everything here can be sent to another machine.

    The number of shards is fixed when a job begins: a partition each for a topic, `shards` buckets of keys for files.
    A shard is a `Tail` of its own, in a directory of its own, so model, scores and positions of a shard are one atomic
    checkpoint, and it does not matter how many workers host the shards, or which.

    Parameters
    ----------
    source
        What `open_source` takes: an address, a path, or several.
    model
        Any River classifier or regressor, fresh; each shard has a copy.
    columns
        Which column is what; a text is the name of the target.
    directory
        Where the checkpoints of all shards are. All workers must see it.
    per
        The column whose values stay together: by its values rows of files are dealt to shards, and a value that turns
        up in two partitions of a topic is told.
    shards
        Into how many shards files are cut; a topic has as many as partitions.
    source_options
        Further arguments of `open_source`.
    options
        Further arguments of `Tail`.
    predictions, prediction_options
        Where predictions go, and further arguments of `open_sink`. A file gets the shard's name before its ending.
    on_bad, max_bad
        As the options of the same name.
    text_limit
        Values of a text column to keep apart.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.scale import Job
    >>> job = Job("day.csv", Perceptron(), "fraud", "state", per="customer", shards=2)
    >>> [shard.name for shard in job.cut()]
    ['shard-0000', 'shard-0001']

    """

    source: str | Sequence[str]
    model: Any
    columns: Columns | str
    directory: str | Path
    per: str | None = None
    shards: int = 8
    source_options: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    predictions: str | None = None
    prediction_options: Mapping[str, Any] = field(default_factory=dict)
    on_bad: str = "fail"
    max_bad: str | None = None
    text_limit: int | None = None

    @property
    def roles(self) -> Columns:
        """Which column is what."""
        return Columns(self.columns) if isinstance(self.columns, str) else self.columns

    @property
    def is_partitioned(self) -> bool:
        """Whether the source has partitions of its own that can be read apart."""
        from stream_maxloss_connectors import source_class

        return "partitions" in source_class(self.source, bool(self.source_options.get("follow"))).traits.options

    def check(self) -> None:
        """Refuse what cannot be cut into shards, before anything is opened."""
        if "-" in ([self.source] if isinstance(self.source, str) else list(self.source)):
            raise UsageError("a job of shards must read files or a topic, got standard input; write it to a file first")
        if not self.is_partitioned and self.per is None:
            raise UsageError(
                "files must be dealt to shards by a column, got none; add --model-per COLUMN (or --key COLUMN), whose "
                "values stay together"
            )
        if self.shards < 1:
            raise UsageError(f"--shards must be at least 1, got {self.shards!r}")
        require_additive(make_metrics(self.options.get("metrics"), self.model))

    def cut(self, partitions: Sequence[int] | None = None) -> list[Shard]:
        """Return the shards: one for each partition, or buckets of keys where there are none."""
        if partitions is None:
            return [Shard(number, buckets=self.shards) for number in range(self.shards)]
        return [Shard(number, partition) for number, partition in enumerate(partitions)]

    def look(self) -> tuple[pa.RecordBatch | None, list[int] | None]:
        """Return the first rows as they are read, and the partitions that the source has.

        All shards decide by these rows what a column is, so that they agree.
        """
        import pyarrow as pa

        from stream_maxloss_connectors import BadRecords

        parts: list[pa.RecordBatch] = []
        with self._open_whole(BadRecords("skip")) as source:
            source.open()
            while (missing := HEAD_ROWS - sum(part.num_rows for part in parts)) > 0:
                batch = source.next_batch(missing, WAIT if not parts else 0.5)
                if batch is None or (parts and not batch.records.schema.equals(parts[0].schema)):
                    break
                parts.append(batch.records)
            names = source.partitions() if self.is_partitioned else None
        return pa.concat_batches(parts) if parts else None, None if names is None else sorted(map(int, names))

    def _open_whole(self, bad_records: BadRecords) -> Source:
        from stream_maxloss_connectors import open_source

        return open_source(
            self.source, columns=self.roles.wanted, bad_records=bad_records, **copy.deepcopy(dict(self.source_options))
        )

    def make_tail(self, shard: Shard, head: pa.RecordBatch | None = None) -> tuple[Tail, KeySample]:
        """Return the run of one shard, and the keys that it will have seen."""
        from stream_maxloss.run.tail import Tail
        from stream_maxloss_connectors import open_sink

        bad = parse_bad_records(own_file(self.on_bad, shard), self.max_bad)
        keys = KeySample()
        sink = None
        if self.predictions is not None:
            sink = open_sink(own_file(self.predictions, shard), **copy.deepcopy(dict(self.prediction_options)))
        options: dict[str, Any] = {"report_every": None, **copy.deepcopy(dict(self.options))}
        tail = Tail(
            ShardSource(self._open_part(shard, bad, head), keys, self.per, shard.number, shard.buckets),
            copy.deepcopy(self.model),
            self.roles,
            bad_records=bad,
            predictions=sink,
            checkpoint=Path(self.directory) / shard.name,
            names={"source": str(self.source), "predictions": own_file(self.predictions or "", shard)},
            texts=TextValues(self.text_limit),
            head=head,
            attachments={"keys": keys},
            **options,
        )
        return tail, keys

    def _open_part(self, shard: Shard, bad: BadRecords, head: pa.RecordBatch | None) -> Source:
        from stream_maxloss_connectors import BadRecords, open_source

        options: dict[str, Any] = copy.deepcopy(dict(self.source_options))
        if shard.partition is not None:
            options["partitions"] = [shard.partition]
            if head is not None and "schema" not in options:
                options["schema"] = head.schema
        elif shard.number:  # a malformed record has no key: the first shard speaks for all
            bad = BadRecords("skip")
        return open_source(self.source, columns=self.roles.wanted, bad_records=bad, **options)


def own_file(text: str, shard: Shard) -> str:
    """Return the name of a file with the shard's before its ending; anything else as it is.

    Examples
    --------
    >>> from stream_maxloss.scale.shards.job import Shard, own_file
    >>> own_file("out/said.jsonl", Shard(3)), own_file("dlq=bad.jsonl", Shard(3)), own_file("kafka://b:1/t", Shard(3))
    ('out/said.shard-0003.jsonl', 'dlq=bad.shard-0003.jsonl', 'kafka://b:1/t')

    """
    if not text or "://" in text or text in ("fail", "skip"):
        return text
    policy, path = ("dlq=", Path(text[4:])) if text.startswith("dlq=") else ("", Path(text))
    return policy + str(path.with_name(f"{path.stem}.{shard.name}{path.suffix}"))


def require_same_cut(found: list[Shard], saved: list[Shard]) -> None:
    """Refuse a source that is cut otherwise than when the job began: its keys would move between shards."""
    if found != saved:
        raise SourceError(
            f"the job must be cut as when it began, got {len(found)} shards, and {len(saved)} then; keys would move "
            "between models: start over with --fresh, or use another directory"
        )
