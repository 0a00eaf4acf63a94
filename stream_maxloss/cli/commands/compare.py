"""`maxloss compare`: several models over one pass of a source."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.options.columns import column_options, metric_option, positive_option, task_option
from stream_maxloss.cli.options.config import config_option
from stream_maxloss.cli.options.group import Command, grouped
from stream_maxloss.cli.options.intake import IntakeOptions, csv_types, intake_options
from stream_maxloss.cli.options.models import seed_option
from stream_maxloss.cli.options.source import BadRecordOptions, SourceOptions, bad_record_options, source_options
from stream_maxloss.cli.options.tasks import choose_task, read_head, require_task
from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.errors import MissingExtraError, ModelError, SourceError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from stream_maxloss.cli.process.signals import SignalFlags
    from stream_maxloss.cli.reports.comparison import Contender
    from stream_maxloss.cli.reports.progress_line import ProgressLine
    from stream_maxloss.evaluate import RowBatch
    from stream_maxloss.run import Columns, RowFeed, Target
    from stream_maxloss.run.task import Task

__all__ = ["compare"]

logger = logging.getLogger("stream_maxloss.run")

DEFAULT_MODELS = {
    "binary": ("HingeOGD,no-focus", "HingeOGD", "auto"),
    "class": ("auto,compute=least", "auto"),
    "number": ("AbsoluteOGD", "auto"),
}
"""What is compared where no model is named, by what the target is."""


@dataclass(frozen=True)
class Contest:
    """What the options say about the models and their labels."""

    models: tuple[str, ...]
    positive: str | None
    task: str | None
    seed: int
    metrics: tuple[str, ...]

    def find_task(self, head: pa.RecordBatch | None, target: str) -> Task | None:
        """Return what the target is, where a model suits itself to it; else None."""
        from stream_maxloss.cli.options.model_words import parse_model

        models = [parse_model(name) for name in self.models]
        is_auto = not models or any(model.is_auto for model in models)
        takes_classes = is_auto or any(model.takes_classes for model in models)
        require_task(self.task, self.positive, is_auto, takes_classes)
        return choose_task(head, target, self.positive, self.task, is_auto) if takes_classes else None

    def contenders(self, slice_by: str | None, task: Task | None) -> list[Contender]:
        """Return the models, each under the name that the user gave it.

        Parameters
        ----------
        slice_by
            The slice column, or None.
        task
            What the target is, or None.

        Raises
        ------
        UsageError
            If two are the same, or some predict labels and some numbers.

        """
        from stream_maxloss.cli.options.model_words import parse_model
        from stream_maxloss.cli.options.models import build_model
        from stream_maxloss.cli.reports.comparison import Contender

        kind = None if task is None else task.kind
        names = self.models or DEFAULT_MODELS[kind or "binary"]
        metrics = self.metrics or (() if task is None else task.metrics)
        twins = [name for name in names if names.count(name) > 1]
        if twins:
            raise UsageError(f"--model must differ from the others, got {twins[0]!r} twice; change a setting (seed=1)")
        models = {name: build_model(parse_model(name, self.seed), kind) for name in names}
        found = [Contender(name, model, metrics, slice_by, kind) for name, model in models.items()]
        if len({contender.loop.engine.is_classifier for contender in found}) > 1:
            mixed = ", ".join(names)
            raise UsageError(f"--model must be all classifiers or all regressors, got {mixed}; compare like with like")
        return found

    def target(self, name: str, contenders: list[Contender], task: Task | None) -> Target:
        """Return how labels are read: binary as soon as one of the models takes no others."""
        from stream_maxloss.run.target import Target, label_kind

        kinds = {label_kind(contender.model) for contender in contenders}
        if "binary" not in kinds and task is not None:
            return Target(name, task.kind, self.positive)
        return Target(name, "binary" if kinds & {"binary", "auto"} else kinds.pop(), self.positive)


contest_options = grouped(
    "contest",
    Contest,
    click.option(
        "--model",
        "models",
        metavar="NAME[,SETTING...]",
        multiple=True,
        help="auto, a learner or module:factory with its settings, for instance HingeOGD,no-focus,lr=0.5. Repeat it. "
        "Settings: focus, no-focus, scale, no-scale, window=, replays=, slack=, share=, seed=, and parameters of "
        "the model. Default: HingeOGD without and with focus, and auto; for classes and numbers what can learn them.",
    ),
    positive_option,
    task_option,
    seed_option,
    metric_option,
)


@click.command(cls=Command)
@source_options
@column_options
@contest_options
@intake_options
@click.option("--limit", type=click.IntRange(min=1), help="Stop at this many rows.")
@bad_record_options
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the first metric over the rows, as PNG."
)
@click.option("--output", "-o", metavar="text|jsonl", default="text", help="A table, or one JSON object per model.")
@config_option
@click.option("--quiet", "-q", is_flag=True, help="No messages, only errors.")
def compare(
    source: SourceOptions,
    columns: Columns,
    contest: Contest,
    intake: IntakeOptions,
    bad: BadRecordOptions,
    limit: int | None,
    plot: Path | None,
    output: str,
    quiet: bool,
) -> int:
    """Run several models over one pass of a source, each predicting every row before it learns it.

    Prints for each model its metrics, its worst slice where --slice-by names a column, the seconds it took (without
    compiling, which is said) and its memory; and what a constant prediction would have scored.
    """
    from stream_maxloss.cli.process.signals import SignalFlags
    from stream_maxloss.cli.reports.comparison import draw
    from stream_maxloss.cli.reports.curve_plot import can_plot
    from stream_maxloss.cli.reports.progress_line import ProgressLine
    from stream_maxloss.run import RowFeed
    from stream_maxloss_connectors import refuse_clashing_outputs, refuse_outputs_that_are_read

    messages = Messages(quiet)
    messages.catch_all()
    require_choice("--output", output, ("text", "jsonl"))
    if columns.target is None:
        raise UsageError("--target must name the label's column; maxloss schema SOURCE shows what there is")
    if plot is not None and not can_plot():
        raise MissingExtraError("drawing a plot", "plot")
    taking = intake.make()
    reading = {"types": csv_types(taking)}
    head = read_head(source, columns.wanted, **reading)
    task = contest.find_task(head, columns.target)
    if task is not None and task.reason:
        messages.say(task.reason)
    contenders = contest.contenders(columns.slice_by, task)
    bad_records = bad.make()
    with SignalFlags() as flags:
        try:
            with source.open(bad_records, columns.wanted, **reading) as opened:
                outputs = {"dead letters": bad_records, "the plot": plot}
                refuse_outputs_that_are_read(opened, outputs)
                refuse_clashing_outputs(outputs)
                opened.open()
                target = contest.target(columns.target, contenders, task)
                find_text = any(contender.loop.engine.is_native for contender in contenders)
                feed = RowFeed(opened, columns, target, bad_records, intake=taking, head=head, find_text=find_text)
                with ProgressLine(opened, quiet) as line:
                    line.begin()
                    contenders = read_all(feed, contenders, limit, plot is not None, flags, line)
        finally:
            bad_records.close()
        if not contenders[0].board.rows:
            raise SourceError(f"{source.name}: source must have rows to compare models on, got none")
        show(contenders, output, columns.slice_by)
        messages.say(f"{source.name}: {contenders[0].board.rows:,} rows, each predicted before it was learned")
        compiling = sum(contender.compiling for contender in contenders)
        if compiling >= 0.1:
            messages.say(f"compiling took {compiling:.1f} s more, which the next run will not")
        if (report := contenders[0].board.slices()) is not None:
            messages.say(report["rule"])
        if plot is not None:
            draw(contenders, plot, columns.slice_by)
            messages.say(f"the curves are in {plot}")
        return flags.exit_code if flags.stopped else DONE


def read_all(
    feed: RowFeed,
    contenders: list[Contender],
    limit: int | None,
    marks: bool,
    flags: SignalFlags,
    line: ProgressLine,
) -> list[Contender]:
    """Run every model over every row, until the source ends, the limit or a signal; return the models that took them.

    Behind the first batch each model has a process of its own, if there are cores for it.
    """
    from stream_maxloss.run.stages import Stages, can_fork

    stages: Stages | None = None
    try:
        for number, batch in enumerate(batches_of(feed, limit, marks, flags, line)):
            if number == 1 and len(contenders) > 1 and can_fork():
                stages = Stages(contenders, feed.bad_records.handle, lambda one, error: drop(one, contenders, error))
            if stages is None:
                learn_in_turn(batch, contenders, feed, marks)
            else:
                stages.take(batch, marks)
        return contenders if stages is None else stages.finish()
    finally:
        if stages is not None:
            stages.close()


def batches_of(
    feed: RowFeed, limit: int | None, marks: bool, flags: SignalFlags, line: ProgressLine
) -> Iterator[RowBatch]:
    """Yield the rows that have labels."""
    import numpy as np

    from stream_maxloss.run.feed import BATCH_ROWS

    rows = 0
    while not feed.source.exhausted and not flags.stopped and (limit is None or rows < limit):
        room = BATCH_ROWS if limit is None else min(BATCH_ROWS, limit - rows)
        # For the plot more points, evenly spread on the way; otherwise batches as long as they may be.
        size = min(room, max(250, rows // 50)) if marks else room
        batch = feed.next(size, 0.2, not feed.source.waits, lambda: flags.stopped)
        if batch is None or not len(batch):
            continue
        rows += len(batch)
        if batch.unlabelled is not None:
            batch = batch.without(np.flatnonzero(batch.unlabelled).tolist())
        yield batch
        line.show(rows)


def learn_in_turn(batch: RowBatch, contenders: list[Contender], feed: RowFeed, marks: bool) -> None:
    """Run every model over some rows, one after the other."""
    for contender in list(contenders):
        try:
            batch = contender.learn(batch, feed.bad_records.handle)
        except ModelError as error:
            drop(contender, contenders, error)
            continue
        if marks:
            contender.mark()


def drop(contender: Contender, contenders: list[Contender], error: ModelError) -> None:
    """Go on without a model that does not take the rows.

    Raises
    ------
    UsageError
        If no model is left.

    """
    remedy = "a step of river.preprocessing, --exclude or --text may help it with text and missing values"
    contenders.remove(contender)
    if not contenders:
        raise UsageError(f"a model must take the rows, got none that does: {error}; {remedy}") from error
    logger.warning("continuing without %s: %s; %s", contender.name, error, remedy)


def show(contenders: list[Contender], output: str, slice_by: str | None) -> None:
    """Print what came out."""
    import orjson

    from stream_maxloss.cli.reports.comparison import make_table, plain

    found = [contender.summary() for contender in contenders]
    constant = {name: plain(score.baseline) for name, score in contenders[0].board.scores().items()}
    if output == "jsonl":
        lines = [*found, {"model": "(constant)", "rows": found[0]["rows"], "metrics": constant}]
        sys.stdout.buffer.write(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))
        sys.stdout.buffer.flush()
    else:
        print(make_table(found, constant, slice_by))  # noqa: T201
