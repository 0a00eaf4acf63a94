"""Measure, plan, simulate: `python -m benchmarks.internet_scale` renews figures and plot of docs/internet_scale.md."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.internet_scale.measured import measure
from benchmarks.internet_scale.plan import Plan, needed_workers
from benchmarks.internet_scale.simulation import simulate

PAGE = Path("docs/internet_scale.md")
RESULTS = Path("benchmarks/results/internet_scale.json")
SHARD_MEGABYTES = 4.0
MODELS = ("linear", "focused", "leaves", "keyed", "auto")


def plan_of(found: dict[str, float], rate: float, model: str, shards: int, **changes: Any) -> Plan:
    """Return the job of a rate of rows and a kind of model."""
    checkpoint = (found["checkpoint_ms"] + SHARD_MEGABYTES * found["checkpoint_ms_per_mb"]) / 1e3
    row = (found["decode"] + found[model]) / 1e6
    plan = Plan(rate, 1, shards, row, stall_seconds=checkpoint, disk_seconds=checkpoint, **changes)
    return needed_workers(plan)


def costs(found: dict[str, float]) -> str:
    """Return what was measured, as a table."""
    names = {
        "decode": "decoding a JSON message of {message_bytes:.0f} bytes",
        "linear": "learning, `Scaler` and `HingeOGD`",
        "focused": "the same, focused on a window of 10,000",
        "replay": "of which replay",
        "leaves": "learning, `Bins` and `Logistic`",
        "keyed": "learning, a `Logistic` for each of 2,000 keys",
        "auto": "learning, `auto`",
    }
    lines = ["| what | microseconds a row |", "|---|---|"]
    lines += [f"| {text.format(**found)} | {found[name]:.1f} |" for name, text in names.items()]
    lines += [
        "",
        f"A checkpoint takes {found['checkpoint_ms']:.0f} ms and {found['checkpoint_ms_per_mb']:.1f} ms a megabyte "
        f"(wall time, with `fsync`, on a disk that others used, too); "
        f"the model of a key takes {found['key_bytes']:.0f} bytes.",
    ]
    return "\n".join(lines)


def check(found: dict[str, float], sizes: tuple[int, ...], seconds: float) -> tuple[str, list[dict[str, Any]]]:
    """Return the formulas beside the simulation, for numbers of workers."""
    lines = [
        "| workers | shards | disks | busy | disk busy | wait for the disk, ms | behind, % of workers | failures |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|"]
    kept = []
    for workers in sizes:
        # Failures are made frequent, so that some happen in the time that is simulated.
        base = plan_of(found, 1.0, "keyed", 2 * workers, failures_every=3600.0)
        rate = 0.6 * workers / base.row_seconds
        need = 2 * workers / base.checkpoint_every * base.disk_seconds
        plan = replace(base, rate=rate, workers=workers, disks=max(1, round(need / 0.5)))
        seen = simulate(plan, seconds)
        lines.append(
            f"| {workers:,} | {plan.shards:,} | {plan.disks} | {plan.busy:.2f}, {seen.busy:.2f} | "
            f"{plan.disk_busy:.2f}, {seen.disk_busy:.2f} | {1e3 * plan.disk_wait:.1f}, {1e3 * seen.disk_wait:.1f} | "
            f"{100 * plan.share_behind:.2f}, {100 * seen.share_behind:.2f} | {seen.failures:,} |"
        )
        kept.append({"workers": workers, "plan": vars(plan), "seen": vars(seen)})
    return "\n".join(lines), kept


def needs(found: dict[str, float]) -> str:
    """Return what a million rows a second need, by kind of model."""
    lines = ["| model | cores | workers behind at any time | shards that one disk bears |", "|---|---|---|---|"]
    for model in MODELS:
        plan = plan_of(found, 1e6, model, 512)
        plan = plan if plan.workers <= plan.shards else plan_of(found, 1e6, model, 1 << (plan.workers - 1).bit_length())
        bears = int(0.7 * plan.checkpoint_every / plan.disk_seconds)
        lines.append(f"| {model} | {plan.workers:,} | {plan.workers * plan.share_behind:.2f} | {bears:,} |")
    network = 1e6 * found["message_bytes"] / 1e6
    keys = 1e9 * found["key_bytes"] / 1e9
    lines += [
        "",
        f"The network carries {network:,.0f} MB/s ({network * 8 / 1e3:.1f} Gbit/s) of messages to the workers, before "
        f"compression and replication. A billion keys are {keys:,.0f} GB of models, on disks or in memory; at 64 GB a "
        f"machine that is {keys / 64:,.0f} machines for all in memory, or fewer where most keys are idle.",
    ]
    return "\n".join(lines)


def draw(kept: list[dict[str, Any]], path: Path) -> None:
    """Draw formula and simulation beside each other."""
    import matplotlib.pyplot as plt

    picture, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    sizes = [one["workers"] for one in kept]
    names = {"disk_wait": "wait for the disk, s", "share_behind": "share of workers behind"}
    for panel, (name, text) in zip(panels, names.items(), strict=True):
        formula = [getattr(Plan(**one["plan"]), name) for one in kept]
        panel.plot(sizes, formula, "-", color="0.5", label="formula")
        panel.plot(sizes, [one["seen"][name] for one in kept], "o", color="tab:blue", label="simulation")
        panel.set(xscale="log", xlabel="workers", title=text, ylim=(0, None))
        panel.legend(frameon=False)
    picture.savefig(path, dpi=110)


def main() -> None:
    """Do all of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.internet_scale", description=__doc__)
    parser.add_argument("--measured", type=Path, help="a results file to take the measurements from")
    parser.add_argument("--seconds", type=float, default=600.0, help="to simulate")
    words = parser.parse_args()
    found = measure() if words.measured is None else json.loads(words.measured.read_text())["measured"]
    table, kept = check(found, (10, 100, 1000, 10_000), words.seconds)
    RESULTS.write_text(json.dumps({"measured": found, "simulated": kept}, indent=1) + "\n")
    page = PAGE.read_text(encoding="utf-8")
    for name, text in (("costs", costs(found)), ("check", table), ("needs", needs(found))):
        marks = rf"(<!-- {name} -->\n\n).*?(\n\n<!-- end -->|(?<=\n\n)<!-- end -->)"
        page = re.sub(marks, lambda hit, text=text: f"{hit[1]}{text}\n\n<!-- end -->", page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")
    draw(kept, Path("docs/internet_scale.png"))
    print(table)


if __name__ == "__main__":
    main()
