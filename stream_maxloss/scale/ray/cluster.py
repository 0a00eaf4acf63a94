"""The Ray cluster that the user means."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from stream_maxloss.errors import MissingExtraError, SourceError, UsageError

__all__ = ["connect", "disconnect", "load_ray"]

LOCAL = "local"
CONNECT_SECONDS = 10.0
"""How long an address may take to answer at all."""

INIT_SECONDS = 60.0
"""How long Ray may take to let us in, or to start on this machine."""

LOCAL_STORE_BYTES = 100 << 20
"""Memory of a local cluster's object store, which is hardly used: rows do not go through it."""


def load_ray() -> Any:
    """Return the module `ray`.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    """
    # Ray would ask a server of its makers; nothing of ours leaves the user's machines.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("running on Ray", "ray") from error
    return ray


def connect(address: str, runtime_env: Mapping[str, Any] | None = None) -> Any:
    """Return Ray, connected to a cluster in bounded time.

    Parameters
    ----------
    address
        `local` for a cluster on this machine that ends with the process; `host:port` of the head node, from a machine
        of the cluster; `ray://host:port` of its server for clients, from anywhere.
    runtime_env
        What workers need beside what their machines have, as `ray.init` takes it.

    Raises
    ------
    SourceError
        If nobody answers there, or not as a Ray cluster.
    MissingExtraError
        If Ray is not installed.

    """
    ray = load_ray()
    settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    settings["runtime_env"] = dict(runtime_env or {})
    if address == LOCAL:
        settings |= {"address": LOCAL, "num_cpus": 1, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        settings["object_store_memory"] = LOCAL_STORE_BYTES
    else:
        settings["address"] = address
        require_answer(address)
    try:
        if address == LOCAL:
            ray.init(**settings)
        else:
            bounded(lambda: ray.init(**settings), INIT_SECONDS)
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise SourceError(
            f"--ray must be the address of a Ray cluster, got {address!r}: {reason}; see `ray status`, "
            "and RAY_AUTH_TOKEN for a cluster that asks for a token"
        ) from error
    return ray


def bounded(action: Callable[[], Any], seconds: float) -> None:
    """Do something in bounded time: Ray waits for ever in some cases, as where something else listens.

    A local cluster must not be started like this: its processes end with the thread that has started them.
    """
    failures: list[BaseException] = []

    def act() -> None:
        try:
            action()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no cluster within {seconds:g} s")
    if failures:
        raise failures[0]


def require_answer(address: str) -> None:
    """Refuse an address that is none, or at which nobody listens."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"--ray must be local, host:port or ray://host:port, got {address!r}")
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "no answer"
        raise SourceError(
            f"--ray must be the address of a Ray cluster, got {address!r}: {reason}; start one there "
            "(ray start --head), or use --ray local"
        ) from error


def disconnect(ray: Any) -> None:
    """Leave the cluster; a local one ends."""
    with contextlib.suppress(Exception):
        ray.shutdown()
