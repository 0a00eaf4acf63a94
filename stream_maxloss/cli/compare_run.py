"""What `maxloss compare` does once its options are read."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from stream_maxloss.cli.contender import Contender, plain
from stream_maxloss.cli.curve_plot import can_plot, plot_curves
from stream_maxloss.cli.messages import Messages
from stream_maxloss.cli.model_words import parse_model
from stream_maxloss.cli.models import build_model
from stream_maxloss.cli.row_feed import BATCH_ROWS, Columns, RowFeed
from stream_maxloss.cli.signals import SignalFlags
from stream_maxloss.cli.source_options import SourceSettings, make_bad_records, make_source
from stream_maxloss.cli.targets import Target, label_kind
from stream_maxloss.cli.text_table import format_bytes, format_table
from stream_maxloss.errors import MissingExtraError, SourceError

__all__ = ["ComparePlan", "run_compare"]

DEFAULT_MODELS = ("HingeOGD,no-focus", "HingeOGD")
PLOTTED_SLICES = 3


@dataclass(frozen=True)
class ComparePlan:
    """Everything that the options say."""

    source: SourceSettings
    columns: Columns
    models: tuple[str, ...] = ()
    positive: str | None = None
    metrics: tuple[str, ...] = ()
    seed: int = 0
    limit: int | None = None
    on_bad: str = "fail"
    max_bad: str | None = None
    plot: Path | None = None
    output: str = "text"
    quiet: bool = False


def run_compare(plan: ComparePlan) -> int:
    """Run `maxloss compare` and return the exit code."""
    messages = Messages(plan.quiet)
    messages.catch_warnings()
    if plan.output not in ("text", "jsonl"):
        raise ValueError(f"--output must be text or jsonl, got {plan.output!r}")
    if plan.columns.target is None:
        raise ValueError("--target must name the label's column; maxloss schema SOURCE shows what there is")
    if plan.plot is not None and not can_plot():
        raise MissingExtraError("drawing a plot", "plot")
    contenders = make_contenders(plan)
    with SignalFlags() as flags:
        read_all(plan, contenders, flags)
        show(contenders, plan, messages)
        if plan.plot is not None:
            draw(contenders, plan.plot, plan.columns.slice_by)
            messages.say(f"the curves are in {plan.plot}")
        return flags.exit_code if flags.stopped else 0


def make_contenders(plan: ComparePlan) -> list[Contender]:
    """Return the models, each under the name that the user gave it.

    Raises
    ------
    ValueError
        If two are the same, or some predict labels and some numbers.

    """
    names = plan.models or DEFAULT_MODELS
    twins = [name for name in names if names.count(name) > 1]
    if twins:
        raise ValueError(f"--model must differ from the others, got {twins[0]!r} twice; change a setting (seed=1)")
    contenders = [
        Contender(name, build_model(parse_model(name, plan.seed)), plan.metrics, plan.columns.slice_by)
        for name in names
    ]
    if len({contender.engine.is_classifier for contender in contenders}) > 1:
        raise ValueError(f"--model must be all classifiers or all regressors, got {', '.join(names)}; compare alike")
    return contenders


def shared_target(plan: ComparePlan, contenders: list[Contender]) -> Target:
    """Return how labels are read: binary as soon as one of the models takes no others."""
    kinds = {label_kind(contender.model) for contender in contenders}
    kind = "binary" if "binary" in kinds else kinds.pop()
    return Target(str(plan.columns.target), kind, plan.positive)


def read_all(plan: ComparePlan, contenders: list[Contender], flags: SignalFlags) -> None:
    """Give every row to every model, until the source ends, the limit or a signal."""
    bad_records = make_bad_records(plan.on_bad, plan.max_bad)
    source = make_source(plan.source, bad_records)
    patient = not (plan.source.follow or plan.source.is_kafka or "-" in plan.source.sources)
    rows = 0
    try:
        source.open()
        feed = RowFeed(source, plan.columns, shared_target(plan, contenders), bad_records)
        while not source.exhausted and not flags.stopped and (plan.limit is None or rows < plan.limit):
            room = BATCH_ROWS if plan.limit is None else min(BATCH_ROWS, plan.limit - rows)
            # For the plot more points, evenly spread on the way; otherwise batches as long as they may be.
            size = room if plan.plot is None else min(room, max(250, rows // 50))
            batch = feed.next(size, 0.2, patient, lambda: flags.stopped)
            if batch is None or not len(batch):
                continue
            rows += len(batch)
            for contender in contenders:
                batch = contender.learn(batch, bad_records)
                if plan.plot is not None:
                    contender.mark()
    finally:
        source.close()
        bad_records.close()
    if not rows:
        raise SourceError(f"{plan.source.name}: source must have rows to compare models on, got none")


def show(contenders: list[Contender], plan: ComparePlan, messages: Messages) -> None:
    """Print what came out."""
    found = [contender.summary() for contender in contenders]
    constant = {name: plain(score.baseline) for name, score in contenders[0].board.scores().items()}
    if plan.output == "jsonl":
        lines = [*found, {"model": "(constant)", "rows": found[0]["rows"], "metrics": constant}]
        sys.stdout.buffer.write(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))
        sys.stdout.buffer.flush()
    else:
        print(make_table(found, constant, plan.columns.slice_by))  # noqa: T201
    messages.say(f"{plan.source.name}: {found[0]['rows']:,} rows, each predicted before it was learned")


def make_table(found: list[dict[str, Any]], constant: dict[str, float | None], slice_by: str | None) -> str:
    """Return one line for each model and one for the constant prediction."""
    names = list(constant)
    header = ["model", *names]
    if slice_by is not None:
        header += [f"worst {slice_by}", f"its {names[0]}"]
    lines = []
    for summary in found:
        line = [summary["model"], *(number(summary["metrics"][name]) for name in names)]
        if slice_by is not None:
            line += [summary["worst_slice"] or "", number(summary["worst_metrics"].get(names[0]))]
        lines.append([*line, f"{summary['seconds']:.2f}", format_bytes(summary["memory_bytes"])])
    blanks = [""] * (len(header) - len(names) + 1)
    lines.append(["(constant)", *(number(constant[name]) for name in names), *blanks])
    return format_table([*header, "seconds", "memory"], lines, left=(0, len(names) + 1) if slice_by else (0,))


def number(value: float | None) -> str:
    """Return a metric's value as text."""
    return "" if value is None else f"{value:.4f}"


def draw(contenders: list[Contender], path: Path, slice_by: str | None) -> None:
    """Draw the first metric over the rows: of all rows, and of the slices that are worst for some model."""
    panels = {"all rows": {c.name: trim([(p.rows, p.value) for p in c.points]) for c in contenders}}
    worst = dict.fromkeys(report["worst"] for c in contenders if (report := c.board.slices()) is not None)
    for name in [name for name in worst if name is not None][:PLOTTED_SLICES]:
        curves = {}
        for contender in contenders:
            curves[contender.name] = trim([(p.rows, p.slices[name]) for p in contender.points if name in p.slices])
        panels[f"{slice_by} = {name}"] = curves
    metric = contenders[0].board.names[0]
    plot_curves(path, panels, f"{metric} so far, each row predicted before it is learned", f"{metric} so far")


def trim(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """Return rows and values without the first of many points: scores of a handful of rows jump and hide the rest."""
    shown = points[len(points) // 20 :]
    return [rows for rows, _ in shown], [value for _, value in shown]
