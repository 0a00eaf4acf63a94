"""How many requests a service answers: `python -m benchmarks.serve`, bounded, on an idle machine.

wrk, where it is installed, asks over loopback; the server runs in a process of its own. Rates are a server's wall-clock
rates with one core for it and one for the client, and each predict rate stands beside the same server's "hello" (its
health request), measured in turns. Processor time of the server a request is printed, too: it is what is left on a
machine that is not idle.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROW = {f"x{i}": float(i) / 7.0 for i in range(20)}
CLOCK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--model", default="HingeOGD")
    words = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk must be installed: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="maxloss-serve-") as folder, serving(Path(folder), words.model) as server:
        measure(Path(folder), words.seconds, *server)


def measure(folder: Path, seconds: float, port: int, pid: int) -> None:
    """Ask a service in turns, and print what came of it."""
    url = f"http://127.0.0.1:{port}"
    rows = [{**ROW, "x0": float(i % 11 - 5), "y": i % 11 > 5} for i in range(2000)]
    post(f"{url}/learn", json.dumps(rows).encode(), "application/json")
    predict = script(folder / "predict.lua", json.dumps(ROW))
    learn = script(folder / "learn.lua", json.dumps(rows[0]))
    print("| request | connections | requests a second | p99 ms | server CPU us a request | share of hello |")
    print("|---|---|---|---|---|---|")
    hello: float | None = None
    for name, path, lua in (
        ("hello", "/v2/health/live", None),
        ("predict 1", "/predict", predict),
        ("hello", "/v2/health/live", None),
        ("predict 1", "/predict", predict),
        ("learn 1, with sync", "/learn", learn),
    ):
        found = ask(f"{url}{path}", lua, seconds, pid)
        hello = found["rate"] if name == "hello" else hello
        share = f"{found['rate'] / hello:.2f}" if hello else ""
        print(f"| {name} | 16 | {found['rate']:,.0f} | {found['p99']:.2f} | {found['cpu']:.0f} | {share} |", flush=True)
    body = arrow(rows * 25)
    teach(url, body, 50_000, seconds, pid)
    stop = threading.Event()
    thread = threading.Thread(target=teach_on, args=(url, body, stop))
    thread.start()
    found = ask(f"{url}/predict", predict, seconds, pid)
    stop.set()
    thread.join()
    print(f"| predict 1 while learning at full rate | 16 | {found['rate']:,.0f} | {found['p99']:.2f} | | |")


@contextlib.contextmanager
def serving(folder: Path, model: str) -> Iterator[tuple[int, int]]:
    """Run a service; give its port and process id."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = ["serve", str(folder / "state"), "--target", "y", "--model", model, "--no-focus"]
    words = words[:-1] if model == "auto" else words
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
        raise SystemExit(text)
    requests = int(re.search(r"(\d+) requests in", text)[1])  # type: ignore[index]
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])  # type: ignore[index]
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    found = float(p99[1]) * scale[p99[2]] if p99 else float("nan")
    return {"rate": rate, "p99": found, "cpu": 1e6 * used / max(requests, 1)}


def teach(url: str, body: bytes, rows: int, seconds: float, pid: int) -> None:
    """Learn Arrow bodies one after another."""
    kind = "application/vnd.apache.arrow.stream"
    post(f"{url}/learn", body, kind)
    began, before, count = time.monotonic(), cpu(pid), 0
    while time.monotonic() - began < seconds:
        post(f"{url}/learn", body, kind)
        count += rows
    used, took = cpu(pid) - before, time.monotonic() - began
    told = f"{count / took:,.0f} rows a second, {count / max(used, 1e-9):,.0f} rows a second of CPU"
    print(f"| learn 50,000 rows of 20 in Arrow | 1 | {told} | | | |", flush=True)


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


if __name__ == "__main__":
    main()
