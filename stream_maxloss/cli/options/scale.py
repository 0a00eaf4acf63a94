"""What the command line says about several workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from stream_maxloss.cli.options.group import grouped
from stream_maxloss.errors import UsageError

__all__ = ["ScaleOptions", "scale_options"]

WORKERS = 2
PRICE = "Compare with --workers 1; docs/mixing.md has what averaging cost on seven data sets"


@dataclass(frozen=True)
class ScaleOptions:
    """What the options say about several workers."""

    ray: str | None = None
    workers: int | None = None
    shards: int = 8
    mix_every: int | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether there is to be more than this process."""
        return self.ray is not None

    def check(self) -> None:
        """Refuse options that would do nothing."""
        if self.workers is not None and not self.is_wanted and self.mix_every is None:
            raise UsageError(
                f"--workers must come with --ray or --mix-every ROWS, got {self.workers} without; add --ray local"
            )
        if self.is_wanted and self.mix_every is not None:
            raise UsageError(
                f"--mix-every must not come with --ray, got {self.mix_every}; shards have models of their own, which "
                "is exact; --workers N --mix-every ROWS alone shows what averaging would cost"
            )

    def mixed(self, model: Any) -> Any:
        """Return the model as several workers learn it, or as it is where they are not to be mixed."""
        if self.mix_every is None:
            return model
        from river import base

        from stream_maxloss.mixing import MixedClassifier, MixedRegressor

        kind = MixedClassifier if isinstance(model, base.Classifier) else MixedRegressor
        return kind(model, self.workers or WORKERS, self.mix_every)

    @staticmethod
    def price(model: Any) -> str | None:
        """Return what to say at the end of a run of mixed workers, or None."""
        rounds = getattr(model, "rounds", None) if hasattr(model, "mix_every") else None
        if rounds is None:
            return None
        return (
            f"{model.workers} workers, mixed {rounds} times, took turns in this process; the scores are those of the "
            f"mixed model, on rows that no worker had learned. {PRICE}"
        )

    def refuse(self, given: Mapping[str, Any]) -> None:
        """Refuse options that have no meaning over several shards.

        Parameters
        ----------
        given
            Option -> its value, false where it was not given.

        """
        for option, value in given.items():
            if value:
                raise UsageError(f"{option} must not come with --ray, got {value!r}; {REASONS[option]}")


REASONS = {
    "--limit": "shards do not count their rows together",
    "--labels": "labels would have to be where their rows are; give rows their labels first",
    "--watch": "a page shows one run; read the reports as JSON lines instead (--output jsonl)",
    "--alert": "it would be judged shard by shard; read the reports as JSON lines instead (--output jsonl)",
    "--certify": "a certificate is of one model",
    "--decoders": "every worker decodes its own shards",
    "--dry-run": "try it without --ray",
}

scale_options = grouped(
    "scale",
    ScaleOptions,
    click.option(
        "--ray",
        metavar="ADDRESS|local",
        help="Split the run into shards (topic partitions, or buckets of --key for files) and host them on a Ray "
        "cluster: host:port, ray://host:port, or local to start one. Needs --checkpoint on a shared disk.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Processes that host the shards (2). May change at any time without changing any model.",
    ),
    click.option(
        "--shards",
        type=click.IntRange(min=1),
        default=8,
        help="Shards to split files into, fixed for good; a topic has one per partition.",
    ),
    click.option(
        "--mix-every",
        metavar="ROWS",
        type=click.IntRange(min=1),
        help="Let --workers learn different rows and average their weights every ROWS rows each, in this process: "
        "what averaging costs, before you pay for it.",
    ),
)
