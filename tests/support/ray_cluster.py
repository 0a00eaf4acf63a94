"""A Ray cluster of one node on this machine, with processes that the tests may kill."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psutil

STORE_BYTES = 100 << 20
PATIENCE = 90.0


class RayCluster:
    """The address of a cluster, and the processes of its workers."""

    def __init__(self, address: str, pid: int, environment: dict[str, str]) -> None:
        self.address = address
        self.pid = pid
        self.environment = environment  # for drivers: the token of this cluster

    def worker_pids(self) -> list[int]:
        """Processes that host shards."""
        found = []
        for process in psutil.Process(self.pid).children(recursive=True):
            try:
                if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::ShardWorker"):
                    found.append(process.pid)
            except psutil.Error:
                continue
        return sorted(found)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def ray_cluster(cpus: int = 4):
    """Start a cluster that listens on the loopback only, and end it by its process ids."""
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    port = free_port()
    words = ["start", "--head", "--block", "--disable-usage-stats", "--include-dashboard=false"]
    words += ["--node-ip-address=127.0.0.1", f"--port={port}", f"--num-cpus={cpus}", f"--temp-dir={folder}"]
    words += [f"--object-store-memory={STORE_BYTES}"]
    # A token of its own, whatever the user's Ray is set to.
    token = os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
    own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", *words]
    with Path(folder, "out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **own})
    try:
        wait_for_port(process, port, Path(folder, "out"))
        yield RayCluster(f"127.0.0.1:{port}", process.pid, own)
    finally:
        end(process)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        if b"Ray runtime started" in log.read_bytes():
            return
        time.sleep(0.2)
    raise AssertionError(f"no Ray cluster at {port} within {PATIENCE} s: {log.read_text()[-2000:]}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End the cluster: its own processes, by their ids."""
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    for child in alive:
        child.kill()
