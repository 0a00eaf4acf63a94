"""The long form: `python -m tests.torture`, apart from the tests since it takes 20 minutes and more.

Prints a table in Markdown for docs/reliability.md; ends with 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.torture.children import run_child
from tests.torture.faults import FAULTS, run_fault, why_not
from tests.torture.kills import AUTO, MODEL, Killed, kill_on_a_file, kill_on_a_followed_file, kill_on_kafka

__all__ = ["main"]

WORDS = ["kills", "kafka", "ray", "fuzz", "threads", "faults", "soak"]


def read_words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each kind")
    parser.add_argument("--rows", type=int, default=20_000, help="of each run that is killed")
    parser.add_argument("--ray-kills", type=int, default=20, help="of each kind, on Ray")
    parser.add_argument("--records", type=int, default=1_000_000, help="damaged records")
    parser.add_argument("--checkpoints", type=int, default=20_000, help="changed checkpoints")
    parser.add_argument("--odd-rows", type=int, default=100_000)
    parser.add_argument("--soak", type=int, default=100_000_000, help="rows")
    parser.add_argument("--seconds", type=int, default=30, help="that threads share each model")
    parser.add_argument("--only", choices=WORDS, action="append")
    return parser.parse_args()


class Table:
    """Prints a row as soon as it is known, and remembers whether one was bad."""

    def __init__(self) -> None:
        self.broken = False
        sys.stdout.write("| what | how much | what came of it | seconds |\n|---|---|---|---|\n")

    def add(self, action: Callable[[], tuple[str, str, str, bool]]) -> None:
        began = time.monotonic()
        what, how_much, result, holds = action()
        self.broken |= not holds
        seconds = time.monotonic() - began
        sys.stdout.write(f"| {what} | {how_much} | {result if holds else f'**broken**: {result}'} | {seconds:.0f} |\n")
        sys.stdout.flush()


def killed_row(run: Callable[[Path], Killed]) -> tuple[str, str, str, bool]:
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        try:
            found = run(Path(folder))
        except AssertionError as error:
            return "kills", "", str(error)[-500:].replace("\n", " "), False
    told = f"{found.lost} lost, {found.twice} twice"
    if found.identical is not None:
        told += ", identical to the bit" if found.identical else ", NOT identical"
    amount = f"{found.kills} kills, {found.rows:,} rows, resumed from {found.resumed} checkpoints"
    return found.name, amount, told, found.holds


def child_row(what: str, unit: str, module: str, *words: int, debug: bool = False) -> tuple[str, str, str, bool]:
    found: dict[str, Any] = run_child(module, *words, debug=debug)
    failures = found["failures"]
    return (
        what,
        f"{found.get(unit, words[0]):,} {unit}",
        f"failures: {found}" if failures else "0 failures",
        not failures,
    )


def outage_row(how: str, rows: int) -> tuple[str, str, str, bool]:
    from tests.torture.outages import run_outage, why_not_cut

    what = "Kafka, the broker killed" if how == "kill" else "Kafka, the network cut"
    if how == "cut" and (reason := why_not_cut()):
        return what, "", f"not tried: {reason}", True
    found = run_outage(how, rows)
    if found["failures"]:
        return what, f"{rows:,} rows", str(found), False
    amount = f"{found['outages']} outages, {rows:,} rows, resumed {found['restarts']} times"
    return what, amount, f"{found['lost']} lost, {found['twice']} twice", True


def ray_row(victim: str, kills: int) -> tuple[str, str, str, bool]:
    what = "Kafka and Ray, " + ("2, 3, then 1 workers" if victim == "rescale" else f"the {victim} killed")
    command = [sys.executable, "-m", "tests.torture.ray_kills", victim, str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    if done.returncode:
        return what, f"{kills} kills", done.stderr[-500:].replace("\n", " "), False
    found = json.loads(done.stdout.splitlines()[-1])
    told = f"{found['lost']} lost, {found['twice']} twice, {'' if found['identical'] else 'NOT '}identical to the bit"
    return what, f"{found['kills']} kills, {found['rows']:,} rows", told, found["holds"]


def threads_row(seconds: int, debug: bool) -> tuple[str, str, str, bool]:
    found: dict[str, Any] = run_child("threads", seconds, 1, debug=debug)
    calls = sum(sum(counts.values()) for counts in found.get("calls", {}).values())
    what = "one thread writes, three read, names keep coming" + (", PYTHONMALLOC=debug -X dev" if debug else "")
    models = len(found.get("calls", {}))
    return what, f"{calls:,} calls, {models} models", f"failures: {found['failures']}", not found["failures"]


def soak_row(rows: int, window: int, distinct: int) -> tuple[str, str, str, bool]:
    found = run_child("soak", rows, window, distinct)
    what = f"soak, window {window:,}" + (f", text of {distinct:,} values" if distinct else "")
    holds = found.get("memory_growth", 1) < 0.05 and found.get("checkpoint_growth", 1) < 0.1
    told = f"memory {found.get('megabytes')} MB, {found.get('memory_growth', 1):+.1%}; checkpoints "
    return what, f"{rows:,} rows", told + f"{found.get('checkpoint_growth', 1):+.1%}", holds


def fault_row(name: str) -> tuple[str, str, str, bool]:
    if reason := why_not(name):
        return name, "", f"not tried: {reason}", True
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        wrong = run_fault(name, Path(folder))
    return name, "", "; ".join(wrong).replace("\n", " ") or "one line, documented exit code", not wrong


def torture(words: argparse.Namespace, table: Table) -> None:
    wanted = words.only or WORDS
    if "kills" in wanted:
        for model in (MODEL, AUTO):
            table.add(lambda m=model: killed_row(lambda folder: kill_on_a_file(folder, words.kills, words.rows, m)))
        for how in ("rename", "copytruncate"):
            table.add(lambda how=how: killed_row(lambda f: kill_on_a_followed_file(f, words.kills, words.rows, how)))
    if "kafka" in wanted:
        torture_kafka(words, table)
    if "ray" in wanted:
        for victim in ("worker", "driver", "broker", "rescale"):
            table.add(lambda victim=victim: ray_row(victim, words.ray_kills))
    if "fuzz" in wanted:
        table.add(lambda: child_row("damaged records, all decoders", "records", "decoder_fuzz", words.records, 1))
        table.add(lambda: child_row("odd rows", "rows", "row_fuzz", words.odd_rows, 1))
        few = max(words.odd_rows // 10, 200)
        table.add(lambda: child_row("odd rows, PYTHONMALLOC=debug -X dev", "rows", "row_fuzz", few, 2, debug=True))
        some = max(words.records // 20, 1000)
        what = "damaged records, PYTHONMALLOC=debug -X dev"
        table.add(lambda: child_row(what, "records", "decoder_fuzz", some, 2, debug=True))
        what = "checkpoints changed and sealed again"
        table.add(lambda: child_row(what, "checkpoints", "checkpoint_fuzz", words.checkpoints, 1))
    if "threads" in wanted:
        table.add(lambda: threads_row(words.seconds, debug=False))
        table.add(lambda: threads_row(words.seconds, debug=True))
    if "faults" in wanted:
        for name in FAULTS:
            table.add(lambda name=name: fault_row(name))
    if "soak" in wanted:
        table.add(lambda: soak_row(words.soak, 100_000, 0))
        table.add(lambda: soak_row(words.soak // 5, 100_000, words.soak))


def torture_kafka(words: argparse.Namespace, table: Table) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    from kafka_broker import find_broker
    from stream_maxloss.errors import SourceError

    with contextlib.ExitStack() as stack:
        try:
            broker = stack.enter_context(find_broker())
        except SourceError as error:
            sys.stdout.write(f"| Kafka | | not tried: {error} | 0 |\n")
            return
        for how in ("kill", "cut"):
            table.add(lambda how=how: outage_row(how, words.rows))
        for partitions in (1, 4):
            table.add(lambda n=partitions: killed_row(lambda f: kill_on_kafka(f, broker, words.kills, words.rows, n)))


def main() -> None:
    table = Table()
    torture(read_words(), table)
    sys.exit(1 if table.broken else 0)


if __name__ == "__main__":
    main()
