"""The source that the command line names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_maxloss.cli.models import parse_value

if TYPE_CHECKING:
    from stream_maxloss_connectors.bad_records import BadRecords
    from stream_maxloss_connectors.base import Source

__all__ = [
    "ExcludeOption",
    "FeaturesOption",
    "FollowOption",
    "FormatOption",
    "KafkaConfigOption",
    "MaxBadOption",
    "OnBadOption",
    "OnGapOption",
    "SourceArgument",
    "SourceSettings",
    "UntilEofOption",
    "XOption",
    "make_bad_records",
    "make_source",
    "split_names",
]

SourceArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE...",
        help="Files, globs or directories; - for standard input; or kafka://host:port/topic.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl, svmlight, parquet or arrow (Kafka: json, csv, avro, arrow); auto goes by the name.",
    ),
]
FollowOption = Annotated[
    bool,
    typer.Option("--follow", "-F", help="Go on as files grow, rotate or arrive, like tail -F."),
]
UntilEofOption = Annotated[
    bool,
    typer.Option(
        "--until-eof",
        "-e",
        help="End at what the topic or the followed files hold now. Plain files always end.",
    ),
]
FeaturesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="NAMES",
        help="Columns to learn from, separated by commas. Default: all but target, weight and slice column.",
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="NAMES", help="Columns not to learn from."),
]
OnBadOption = Annotated[
    str,
    typer.Option(
        "--on-bad",
        metavar="fail|skip|dlq=FILE",
        help="What to do with a record that is no row: stop, drop it, or write it to a dead-letter file.",
    ),
]
MaxBadOption = Annotated[
    str | None,
    typer.Option(
        "--max-bad",
        metavar="N|PERCENT%",
        help="Stop with exit code 3 when more records are bad than this.",
    ),
]
OnGapOption = Annotated[
    str,
    typer.Option(
        "--on-gap",
        metavar="fail|continue|earliest|latest",
        help="What to do when rows between the checkpoint and the source are gone (files: continue; Kafka: the rest).",
    ),
]
XOption = Annotated[
    list[str] | None,
    typer.Option(
        "-X",
        metavar="KEY=VALUE",
        help="A setting of librdkafka (sasl.username=me) or an option of the format (delimiter=;). May be repeated.",
    ),
]
KafkaConfigOption = Annotated[
    Path | None,
    typer.Option("--kafka-config", help="A properties file for librdkafka."),
]


@dataclass(frozen=True)
class SourceSettings:
    """What the options say about the source.

    Parameters
    ----------
    sources
        What the user named.
    format, follow, until_eof, on_gap
        As the options.
    extra
        `key=value` texts of `-X`.
    kafka_config
        Properties file.
    columns
        Columns to read, None for all.

    """

    sources: Sequence[str]
    format: str = "auto"
    follow: bool = False
    until_eof: bool = False
    on_gap: str = "fail"
    extra: Sequence[str] = ()
    kafka_config: Path | None = None
    columns: list[str] | None = None

    @property
    def is_kafka(self) -> bool:
        """Whether the source is a topic."""
        return any(source.startswith("kafka://") for source in self.sources)

    @property
    def is_sparse(self) -> bool:
        """Whether rows list only what is not zero. Such values are often all 1, which has no deviation to scale by."""
        endings = (".svm", ".svmlight", ".libsvm")
        plain = [source.lower().removesuffix(".gz").removesuffix(".zst") for source in self.sources]
        return self.format == "svmlight" or (self.format == "auto" and any(name.endswith(endings) for name in plain))

    @property
    def name(self) -> str:
        """How reports call the source."""
        return " ".join(self.sources)


def split_names(texts: Sequence[str] | None) -> list[str]:
    """Return column names given in several options or separated by commas.

    Examples
    --------
    >>> from stream_maxloss.cli.source_options import split_names
    >>> split_names(["a,b", "c"])
    ['a', 'b', 'c']

    """
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def make_bad_records(on_bad: str, max_bad: str | None) -> BadRecords:
    """Return the policy that `--on-bad` and `--max-bad` name.

    Examples
    --------
    >>> from stream_maxloss.cli.source_options import make_bad_records
    >>> make_bad_records("skip", "1%").limit
    0.01

    """
    from stream_maxloss_connectors.bad_records import BadRecords

    policy, separator, path = on_bad.partition("=")
    if policy not in ("fail", "skip", "dlq") or (policy == "dlq") != bool(path) or (separator and policy != "dlq"):
        raise ValueError(f"--on-bad must be fail, skip or dlq=FILE, got {on_bad!r}")
    return BadRecords(policy, path or None, None if max_bad is None else parse_limit(max_bad))


def parse_limit(text: str) -> int | float:
    """Return a count, or a share for a percentage."""
    try:
        if text.endswith("%"):
            share = float(text[:-1]) / 100.0
            if not 0.0 <= share < 1.0:
                raise ValueError(text)
            return share
        count = int(text)
    except ValueError:
        raise ValueError(f"--max-bad must be a count or a percentage below 100%, got {text!r}") from None
    if count < 0:
        raise ValueError(f"--max-bad must not be negative, got {text!r}")
    return count


def make_source(settings: SourceSettings, bad_records: BadRecords | None = None) -> Source:
    """Return the source, not yet opened.

    Raises
    ------
    ValueError
        If an option does not go with the source.
    SourceError, MissingExtraError
        If there is no such source, or what reads it is not installed.

    """
    from stream_maxloss_connectors.open import open_source

    if not settings.sources:
        raise ValueError(
            "a SOURCE must be given, got none; name a file, - for standard input, or kafka://host:port/topic"
        )
    options = kafka_options(settings) if settings.is_kafka else file_options(settings)
    uri = settings.sources[0] if len(settings.sources) == 1 else list(settings.sources)
    return open_source(
        uri,
        format=settings.format,
        columns=settings.columns,
        follow=settings.follow and not settings.is_kafka,
        bad_records=bad_records,
        **options,
    )


def kafka_options(settings: SourceSettings) -> dict[str, Any]:
    """Return the arguments of a Kafka source."""
    if len(settings.sources) > 1:
        raise ValueError(
            f"a Kafka topic must be the only SOURCE, got {len(settings.sources)}; run one maxloss for each"
        )
    if settings.on_gap not in ("fail", "earliest", "latest"):
        raise ValueError(f"--on-gap must be fail, earliest or latest for Kafka, got {settings.on_gap!r}")
    if settings.follow and settings.until_eof:
        raise ValueError("--follow and --until-eof must not both be given for Kafka; it follows unless --until-eof")
    options: dict[str, Any] = {"settings": dict(split_pair(text) for text in settings.extra)}
    if settings.until_eof:
        options["until_eof"] = True
    if settings.on_gap != "fail":
        options["on_gap"] = settings.on_gap
    if settings.kafka_config is not None:
        options["settings_file"] = settings.kafka_config
    return options


def file_options(settings: SourceSettings) -> dict[str, Any]:
    """Return the arguments of a source of files."""
    if settings.kafka_config is not None:
        raise ValueError("--kafka-config must come with a kafka:// source")
    options = {name: parse_value(value) for name, value in (split_pair(text) for text in settings.extra)}
    if not settings.follow:
        if settings.on_gap != "fail":
            raise ValueError(f"--on-gap must come with --follow or Kafka, got {settings.on_gap!r}; drop it")
        return options
    if "-" in settings.sources:
        raise ValueError("--follow must come with files, got standard input; it is read until it ends anyway")
    if settings.on_gap not in ("fail", "continue"):
        raise ValueError(f"--on-gap must be fail or continue for files, got {settings.on_gap!r}")
    return {**options, "on_gap": settings.on_gap, "until_eof": settings.until_eof}


def split_pair(text: str) -> tuple[str, str]:
    """Return key and value of `KEY=VALUE`."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ValueError(f"-X must be KEY=VALUE, got {text!r}")
    return key.strip(), value
