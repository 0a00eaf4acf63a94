"""The source that the command line names."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.options.group import argument, grouped
from stream_maxloss.cli.options.usage import usage_errors
from stream_maxloss.errors import StreamMaxlossError, UsageError

if TYPE_CHECKING:
    from stream_maxloss_connectors import BadRecords, Sink, Source, SourceTraits

__all__ = [
    "BadRecordOptions",
    "SourceOptions",
    "bad_record_options",
    "decoders_option",
    "gap_option",
    "peek_columns",
    "source_options",
]

BASIC = (
    argument(
        "sources",
        "SOURCE...",
        "Files, globs or directories; - for standard input; or kafka://host:port/topic.",
        nargs=-1,
    ),
    click.option(
        "--format",
        metavar="FORMAT",
        default="auto",
        help="csv, tsv, jsonl, svmlight, parquet or arrow (Kafka: json, csv, avro, arrow); auto: by file name.",
    ),
    click.option(
        "-X",
        "extra",
        metavar="KEY=VALUE",
        multiple=True,
        help="A librdkafka setting (sasl.username=me) or a format option (delimiter=;). Repeatable.",
    ),
    click.option(
        "--kafka-config", type=click.Path(path_type=Path), help="A properties file for librdkafka.", show_default=False
    ),
)
FOLLOWING = (
    click.option(
        "--follow/--no-follow",
        "-F",
        default=False,
        help="Keep reading as files grow, rotate or appear, like tail -F.",
    ),
    click.option(
        "--until-eof",
        "-e",
        is_flag=True,
        help="Stop at the current end of the topic or of the followed files.",
    ),
)
gap_option = click.option(
    "--on-gap",
    metavar="fail|continue|earliest|latest",
    default="fail",
    help="What to do if rows after the checkpoint are gone from the source (files: fail or continue).",
)

decoders_option = click.option(
    "--decoders",
    metavar="N",
    type=click.IntRange(min=1),
    help="Decode beside the learner: text files in N threads, Kafka and followed files in a process.",
)


@dataclass(frozen=True)
class SourceOptions:
    """What the options say about the source.

    Parameters
    ----------
    sources
        What the user named.
    format, follow, until_eof, on_gap, decoders
        As the options.
    extra
        `key=value` texts of `-X`.
    kafka_config
        Properties file.

    """

    sources: Sequence[str]
    format: str = "auto"
    extra: Sequence[str] = ()
    kafka_config: Path | None = None
    follow: bool = False
    until_eof: bool = False
    on_gap: str = "fail"
    decoders: int | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether rows list only what is not zero. Such values are often all 1, which has no deviation to scale by."""
        endings = (".svm", ".svmlight", ".libsvm")
        plain = [source.lower().removesuffix(".gz").removesuffix(".zst") for source in self.sources]
        return self.format == "svmlight" or (self.format == "auto" and any(name.endswith(endings) for name in plain))

    @property
    def _is_csv(self) -> bool:
        plain = [source.lower().removesuffix(".gz").removesuffix(".zst") for source in self.sources]
        is_named = any(name.endswith((".csv", ".tsv")) for name in plain)
        return "://" not in self.name and (self.format in ("csv", "tsv") or (self.format == "auto" and is_named))

    @property
    def name(self) -> str:
        """How reports call the source."""
        return " ".join(self.sources)

    @property
    def traits(self) -> SourceTraits:
        """What can be asked of a source of this kind.

        Raises
        ------
        UsageError
            If no source is named.
        SourceError, MissingExtraError
            If there is none of this kind, or what reads it is not installed.

        """
        from stream_maxloss_connectors import source_class

        if not self.sources:
            raise UsageError(
                "a SOURCE must be given, got none; name a file, - for standard input, or kafka://host:port/topic"
            )
        return source_class(list(self.sources), self.follow).traits

    def open(
        self,
        bad_records: BadRecords | None = None,
        columns: list[str] | None = None,
        types: Mapping[str, Any] | None = None,
    ) -> Source:
        """Return the source, not yet opened.

        Parameters
        ----------
        bad_records, columns
            As for `open_source`.
        types
            Arrow types of columns of CSV, which has none of its own.

        Raises
        ------
        UsageError
            If an option does not go with the source.
        SourceError, MissingExtraError
            If there is no such source, or what reads it is not installed.

        """
        from stream_maxloss_connectors import open_source

        with usage_errors():
            uri = self.sources[0] if len(self.sources) == 1 else list(self.sources)
            return open_source(uri, columns=columns, bad_records=bad_records, **self.open_arguments(types))

    def open_arguments(self, types: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what `open_source` is given beside the address, as plain values."""
        options = self._open_options()
        if types and self._is_csv:
            options["types"] = types
        return {"format": self.format, "follow": self.follow, **options}

    def open_aside(
        self, bad_records: BadRecords, columns: list[str] | None = None, types: Mapping[str, Any] | None = None
    ) -> Source:
        """Return the source, not yet opened, decoded beside the learner by as many decoders as were asked for.

        Text files are decoded by threads: their parsers leave Python's lock alone, and nothing has to be handed over.
        Any other source is read and decoded in a process of its own.

        Raises
        ------
        UsageError
            If the source is one that only this process can read.

        """
        if self.decoders is None:
            return self.open(bad_records, columns, types)
        if "-" in self.sources:
            raise UsageError("--decoders must come with files or Kafka, got standard input; leave it out")
        if "threads" in self.traits.options:
            return replace(self, extra=(*self.extra, f"threads={self.decoders}")).open(bad_records, columns, types)
        from stream_maxloss_connectors.aside import AsideSource

        return AsideSource(self.open(bad_records, columns, types), bad_records)

    def for_labels(self, uri: str) -> SourceOptions:
        """Return what is meant by a source of labels beside this one: followed alike, with its settings if it can."""
        from stream_maxloss_connectors import source_class

        other = source_class([uri], self.follow)
        if other is source_class(list(self.sources), self.follow):
            return replace(self, sources=(uri,), format="auto" if not self.traits.partitioned else self.format)
        follows = other.traits.follows and "until_eof" in other.traits.options
        live = self.follow or (self.traits.follows and not self.until_eof)
        return SourceOptions((uri,), follow=live and not follows, until_eof=follows and not live)

    def open_predictions(self, uri: str, has_key: bool = False) -> Sink:
        """Return the sink for predictions, with the client's settings of the source where both have such.

        Where rows have a key, it is the key of messages, too, unless the address names another column.
        """
        from stream_maxloss_connectors import open_sink

        with usage_errors():
            return open_sink(uri, **self.sink_arguments(uri, has_key))

    def sink_arguments(self, uri: str, has_key: bool = False) -> dict[str, Any]:
        """Return what `open_sink` is given beside the address, as plain values."""
        from stream_maxloss_connectors import sink_class

        with usage_errors():
            takes = sink_class(uri).options
            options: dict[str, Any] = {}
            if "settings" in takes and "settings" in self.traits.options:
                options["settings"] = dict(split_pair(text) for text in self.extra)
            if "settings_file" in takes and self.kafka_config is not None:
                options["settings_file"] = self.kafka_config
            if "key" in takes and (has_key or self.traits.partitioned) and "key=" not in uri.partition("?")[2]:
                options["key"] = "key"
            return options

    def _open_options(self) -> dict[str, Any]:
        from stream_maxloss.run.words import parse_value

        traits = self.traits
        self._check(traits)
        pairs = dict(split_pair(text) for text in self.extra)
        options: dict[str, Any] = {name: parse_value(value) for name, value in pairs.items()}
        if "settings" in traits.options:
            options = {"settings": pairs}
        if self.kafka_config is not None:
            options["settings_file"] = self.kafka_config
        if self.until_eof and "until_eof" in traits.options:
            options["until_eof"] = True
        if self.on_gap != "fail":
            options["on_gap"] = self.on_gap
        return options

    def _check(self, traits: SourceTraits) -> None:
        from stream_maxloss_connectors import source_class

        policies = traits.gap_policies
        if self.kafka_config is not None and "settings_file" not in traits.options:
            raise UsageError("--kafka-config must come with a kafka:// source")
        if self.on_gap not in policies:
            if len(policies) == 1:
                raise UsageError(f"--on-gap must come with --follow or Kafka, got {self.on_gap!r}; drop it")
            raise UsageError(f"--on-gap must be {' or '.join(policies)} for this source, got {self.on_gap!r}")
        if self.follow and "-" in self.sources:
            raise UsageError("--follow must come with files, got standard input; it is read until it ends anyway")
        if self.follow and self.until_eof and source_class(list(self.sources)).traits.follows:
            raise UsageError(
                f"--follow and --until-eof must not both be given for {self.name}; it follows unless --until-eof"
            )


basic_source_options = grouped("source", SourceOptions, *BASIC)
"""What names a source that is looked at."""

source_options = grouped("source", SourceOptions, *BASIC, *FOLLOWING)
"""What names a source that is read."""

tail_source_options = grouped("source", SourceOptions, *BASIC, *FOLLOWING, gap_option, decoders_option)
"""What names a source that is read, and read on."""


@dataclass(frozen=True)
class BadRecordOptions:
    """What the options say about malformed records."""

    on_bad: str = "fail"
    max_bad: str | None = None

    def make(self) -> BadRecords:
        """Return the policy."""
        from stream_maxloss.run.words import parse_bad_records

        return parse_bad_records(self.on_bad, self.max_bad)


bad_record_options = grouped(
    "bad",
    BadRecordOptions,
    click.option(
        "--on-bad",
        metavar="fail|skip|dlq=FILE",
        default="fail",
        help="What to do with a malformed record: stop, drop it, or write it to a dead-letter file.",
    ),
    click.option("--max-bad", metavar="N|PERCENT%", help="Stop with exit code 3 if more records than this are bad."),
)


def peek_columns(options: SourceOptions) -> str:
    """Return the columns of a source, for an error message; nothing where looking would cost rows or time."""
    from stream_maxloss.run.closest import listed

    if not options.sources:
        return ""
    with contextlib.suppress(StreamMaxlossError), options.open() as source:
        if source.waits:
            return "; maxloss schema shows the columns"
        source.open()
        batch = source.next_batch(1, 1.0)
        return "" if batch is None else f"; there are {listed(batch.records.schema.names)}"
    return ""


def split_pair(text: str) -> tuple[str, str]:
    """Return key and value of `KEY=VALUE`."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise UsageError(f"-X must be KEY=VALUE, got {text!r}")
    return key.strip(), value
