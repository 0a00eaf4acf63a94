"""A service under load: wrk, on loopback, beside the same server's "hello"."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.point import OURS, Point, claim

TITLE = "A service under load"
INCLUDED = (
    "`maxloss serve --model HingeOGD --no-focus` in a process of its own, rows of 20 numbers, wrk with 16 connections "
    "and one thread on loopback; hello is the same server's health request, measured in turns with predictions, and "
    "the share is of rates that were measured side by side. A learned row is acknowledged after `fdatasync`. Arrow "
    "bodies have 50,000 rows, one after another; a core is a second of the server's processor time, all of its threads "
    "together. Rates are on the wall unless they say otherwise; what else runs on the machine is in them."
)
AXIS = None
ROW = {f"x{i}": float(i) / 7.0 for i in range(20)}
ARROW_ROWS = 50_000
CLOCK = os.sysconf("SC_CLK_TCK")


def points(quick: bool) -> list[Point]:
    """Return the one point."""
    settings = {"seconds": 1.0 if quick else 4.0, "turns": 1 if quick else 3}
    return [Point("load", "16 connections, 20 features", (OURS,), settings, kind="fact")]


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return rates and latencies of a service."""
    if shutil.which("wrk") is None:
        raise ImportError("wrk must be installed: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="maxloss-serve-") as folder, serving(Path(folder)) as (port, pid):
        return measure(Path(folder), f"http://127.0.0.1:{port}", pid, **settings)


def measure(folder: Path, url: str, pid: int, seconds: float, turns: int) -> dict[str, Any]:
    """Ask a service in turns; return medians."""
    rows = [{**ROW, "x0": float(i % 11 - 5), "y": i % 11 > 5} for i in range(2000)]
    post(f"{url}/learn", json.dumps(rows).encode(), "application/json")
    predict = script(folder / "predict.lua", json.dumps(ROW))
    learn = script(folder / "learn.lua", json.dumps(rows[0]))
    ask(f"{url}/predict", predict, 1.0, pid)  # compiles what is not compiled yet
    asked = {"hello": ("/v2/health/live", None), "predict": ("/predict", predict)}
    taken = [
        {name: ask(f"{url}{path}", lua, seconds, pid) for name, (path, lua) in asked.items()} for _ in range(turns)
    ]
    found: dict[str, Any] = {
        f"{name} {figure}": statistics.median(turn[name][figure] for turn in taken)
        for name in asked
        for figure in ("rate", "p99", "cpu")
    }
    found["share"] = statistics.median(turn["predict"]["rate"] / turn["hello"]["rate"] for turn in taken)
    found |= {f"learn {name}": value for name, value in ask(f"{url}/learn", learn, seconds, pid).items()}
    body = arrow(rows * (ARROW_ROWS // len(rows)))
    found["arrow rate"], found["arrow core rate"] = teach(url, body, seconds, pid)
    stop = threading.Event()
    thread = threading.Thread(target=teach_on, args=(url, body, stop))
    thread.start()
    busy = ask(f"{url}/predict", predict, seconds, pid)
    stop.set()
    thread.join()
    return found | {f"busy {name}": value for name, value in busy.items()}


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each figure beside what was asked for."""
    facts = measured["load"]["facts"][OURS]
    if "missing" in facts:
        return []
    wanted = (
        ("one-row predictions a second", "predict rate", "", 10_000.0, False),
        ("p99 of a one-row prediction", "predict p99", " ms", 10.0, True),
        ("predictions a second over hellos", "share", "x", 0.6, False),
        ("one-row learns acknowledged a second", "learn rate", "", 2000.0, False),
        ("Arrow rows learned a second of a core", "arrow core rate", "", 1e6, False),
        ("p99 of a prediction while learning at full rate", "busy p99", " ms", 25.0, True),
    )
    return [
        claim("load", what, facts[name], suffix=suffix, target=target, at_most=at_most)
        for what, name, suffix, target, at_most in wanted
    ]


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return rates, latencies and processor time of each request."""
    facts = measured["load"]["facts"][OURS]
    if "missing" in facts:
        return []
    names = {
        "hello": "hello",
        "predict": "predict 1",
        "learn": "learn 1, with sync",
        "busy": "predict 1 while learning",
    }
    rows = [
        [label, f"{facts[f'{name} rate']:,.0f}", f"{facts[f'{name} p99']:.1f}", f"{facts[f'{name} cpu']:.0f}"]
        for name, label in names.items()
    ]
    rows.append(["learn Arrow, rows", f"{facts['arrow rate']:,.0f}", "", f"{1e6 / facts['arrow core rate']:.2f}"])
    return [(["request", "a second", "p99 ms", "server us of processor time"], rows)]


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[int, int]]:
    """Run a service; give its port and process id."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = ["serve", str(folder / "state"), "--target", "y", "--model", "HingeOGD", "--no-focus"]
    command = [sys.executable, "-m", "stream_maxloss.cli", *words, "--listen", f"127.0.0.1:{port}", "--quiet"]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready"):
                    break
                time.sleep(0.1)
            yield port, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def ask(url: str, lua: Path | None, seconds: float, pid: int) -> dict[str, float]:
    """Let wrk ask as fast as it can; return rate, p99 and the server's processor time a request."""
    command = ["wrk", "-t1", "-c16", f"-d{seconds:.0f}s", "--latency", *(["-s", str(lua)] if lua else []), url]
    before = cpu(pid)
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
    used = cpu(pid) - before
    if "Non-2xx" in text:
        raise RuntimeError(text)
    requests = int(re.search(r"(\d+) requests in", text)[1])  # type: ignore[index]
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])  # type: ignore[index]
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    found = float(p99[1]) * scale[p99[2]] if p99 else float("nan")
    return {"rate": rate, "p99": found, "cpu": 1e6 * used / max(requests, 1)}


def teach(url: str, body: bytes, seconds: float, pid: int) -> tuple[float, float]:
    """Learn Arrow bodies one after another; return rows a second, and rows a second of processor time."""
    kind = "application/vnd.apache.arrow.stream"
    post(f"{url}/learn", body, kind)
    began, before, count = time.monotonic(), cpu(pid), 0
    while time.monotonic() - began < seconds:
        post(f"{url}/learn", body, kind)
        count += ARROW_ROWS
    return count / (time.monotonic() - began), count / max(cpu(pid) - before, 1e-9)


def teach_on(url: str, body: bytes, stop: threading.Event) -> None:
    """Learn until told to stop."""
    while not stop.is_set():
        post(f"{url}/learn", body, "application/vnd.apache.arrow.stream")


def post(url: str, body: bytes, kind: str) -> Any:
    """Return the answer to one request."""
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def arrow(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as an Arrow stream."""
    import pyarrow as pa

    from stream_maxloss.serve.bodies import arrow_bytes

    return arrow_bytes(pa.RecordBatch.from_pylist(rows))


def script(path: Path, body: str) -> Path:
    """Write what wrk sends."""
    path.write_text(
        f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\nwrk.headers['Content-Type'] = 'application/json'\n"
    )
    return path


def cpu(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK
