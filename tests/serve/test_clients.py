"""The clients, and the examples of the guide, against a real service."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from stream_maxloss.client import AsyncClient, Client, ServiceError

GUIDE = Path(__file__).parents[2] / "docs" / "serving.md"
OPTIONS = ["--target", "attack", "--slice-by", "service", "--id", "flow", "--model", "HingeOGD", "--window", "100"]


@pytest.fixture
def service(started, wait_until, tmp_path):
    """The service of the guide, on a socket."""
    path = tmp_path / "maxloss.sock"
    started("serve", "connections", *OPTIONS, "--listen", f"unix:{path}")
    with Client(f"unix:{path}") as client:
        wait_until(client.ready)
    return path


def test_both_clients_learn_predict_label_and_look(service):
    row = {"bytes": 310.0, "duration": 0.5, "service": "ftp", "attack": True}
    with Client(f"unix:{service}") as client:
        found = client.learn([row, {**row, "bytes": 20.0, "attack": False}])
        assert (found["learned"], found["refused"]) == (2, [])
        again = [client.learn(row, key="k-1"), client.learn(row, key="k-1")]
        assert again[0]["sequence"] == again[1]["sequence"]
        assert set(client.predict({"bytes": 300.0, "flow": "f-1"})) >= {"prediction", "probability"}
        assert client.label({"flow": "f-1", "attack": True})["learned"] == 1
        table = client.predict(pa.table({"bytes": [1.0, 300.0], "duration": [0.5, 0.5]}))
        assert table.column_names == ["row", "prediction", "probability"]
        assert client.look("schema")["known"]
        with pytest.raises(ServiceError, match="422: field 'bytes' must be a number"):
            client.predict({"bytes": "many"})
        with pytest.raises(ServiceError, match="422: field 'bytes' must be a number"):
            client.learn({**row, "bytes": "many"})

    async def ask():
        async with AsyncClient(f"unix:{service}") as client:
            many = await asyncio.gather(*(client.learn(row) for _ in range(20)))
            return [found["learned"] for found in many], await client.ready()

    assert asyncio.run(ask()) == ([1] * 20, True)


def examples() -> list[tuple[str, str]]:
    """Every curl of the guide with what it prints."""
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.S)
    found = []
    for part in re.split(r"^\$ ", "\n".join(blocks), flags=re.M)[1:]:
        lines = part.splitlines()
        count = 1
        while lines[count - 1].endswith(("\\", "|")):
            count += 1
        found.append(("\n".join(lines[:count]), "\n".join(line for line in lines[count:] if line.strip())))
    return found


def as_pattern(text: str) -> str:
    return re.escape(text).replace(re.escape("..."), ".*")


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_every_curl_of_the_guide_prints_what_the_guide_says(service, tmp_path):
    assert len(examples()) >= 8
    for command, wanted in examples():
        # As printed, but through the socket instead of the port, which somebody else may use here.
        script = f'curl() {{ command curl --unix-socket "{service}" "$@"; }}\n{command}'
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
        )
        assert done.returncode == 0, (command, done.stderr)
        assert re.fullmatch(as_pattern(wanted), done.stdout.strip(), flags=re.S), (command, done.stdout)
