from __future__ import annotations

import builtins

import pytest

from ray_cluster import free_port
from stream_maxloss.errors import MissingExtraError, SourceError, UsageError
from stream_maxloss.scale.ray import cluster


def test_an_address_at_which_nobody_listens_is_one_line():
    port = free_port()
    with pytest.raises(SourceError, match=rf"got '127\.0\.0\.1:{port}': Connection refused"):
        cluster.connect(f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["nowhere", "ray://", "host:port", ":1"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="--ray must be local, host:port or ray://host:port"):
        cluster.connect(address)


def test_waiting_for_something_that_never_answers_ends():
    import threading

    with pytest.raises(TimeoutError, match=r"no cluster within 0\.1 s"):
        cluster.bounded(lambda: threading.Event().wait(5), 0.1)


def test_without_the_extra_the_pip_command_is_printed(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install 'stream-maxloss\[ray\]'"):
        cluster.load_ray()
