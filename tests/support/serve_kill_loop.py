"""Serve in forked processes, kill each with SIGKILL at a random instant, while clients learn and retry.

Reads a plan from standard input. A client sends rows one by one or a few at once, each with a key of its own, and sends
the same again until it is acknowledged; every acknowledgement is a line of `acknowledged.jsonl`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fork_server import start, warm_up

CLIENTS = 8
STOP = Path("stop")
LOG = Path("serve.log")


def row_of(number: int) -> dict[str, object]:
    generator = random.Random(number)
    a, b = generator.gauss(0, 1), generator.gauss(0, 1)
    return {"a": a, "b": b, "number": number, "fraud": a > b}


async def ask(body: bytes, key: str) -> tuple[int, bytes]:
    """Send one request over a connection of its own; an exception means that nobody knows what became of it."""
    reader, writer = await asyncio.open_unix_connection("service.sock")
    try:
        head = f"POST /learn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n"
        head += f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await reader.read()
    finally:
        writer.close()
    head_bytes, separator, text = answer.partition(b"\r\n\r\n")
    if not separator:
        raise ConnectionError("no whole answer")
    length = next(line for line in head_bytes.lower().split(b"\r\n") if line.startswith(b"content-length"))
    if len(text) != int(length.split(b":")[1]):
        raise ConnectionError("no whole answer")
    return int(head_bytes.split()[1]), text


async def learn(client: int, file) -> None:
    generator = random.Random(client)
    number = client * 1_000_000
    while not STOP.exists():
        rows = [row_of(number + i) for i in range(generator.choice([1, 1, 1, 2, 5]))]
        number += len(rows)
        body, key = json.dumps(rows).encode(), f"{client}-{number}"
        while True:
            try:
                status, answer = await asyncio.wait_for(ask(body, key), 10.0)
                if status == 200:
                    line = {"rows": [row["number"] for row in rows], "answer": json.loads(answer)}
                    os.write(file, json.dumps(line).encode() + b"\n")
                    break
                if status not in (429, 503):
                    raise SystemExit(f"{status}: {answer!r}")
            except (OSError, TimeoutError):
                pass
            if STOP.exists():
                break
            await asyncio.sleep(0.01)


def run_clients() -> int:
    pid = os.fork()
    if pid:
        return pid
    file = os.open("acknowledged.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def run() -> None:
        await asyncio.gather(*(learn(client, file) for client in range(CLIENTS)))

    try:
        asyncio.run(run())
        os._exit(0)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        os._exit(1)


def wait_for_end(pid: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -9


def main() -> None:
    plan = json.load(sys.stdin)
    warm_up(plan["warm_up"])
    import uvicorn  # noqa: F401

    import stream_maxloss.serve.http.answers
    import stream_maxloss.serve.server
    import stream_maxloss.serve.service  # noqa: F401

    generator = random.Random(plan["seed"])
    clients = run_clients()
    words, streams = plan["words"], [os.devnull, str(LOG), str(LOG)]
    killed = 0
    longest = 1.0
    acknowledged = Path("acknowledged.jsonl")
    while killed < plan["kills"]:
        before = acknowledged.stat().st_size if acknowledged.exists() else 0
        pid = start(words, streams)
        time.sleep(generator.uniform(0.05, longest))
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != -signal.SIGKILL:
            sys.exit(f"the service ended with {code}: {LOG.read_text()[-2000:]}")
        killed += 1
        after = acknowledged.stat().st_size if acknowledged.exists() else 0
        longest = min(5.0, longest * 1.3) if after == before else max(0.3, longest * 0.9)
    pid = start(words, streams)
    time.sleep(1.0)
    STOP.touch()
    if wait_for_end(clients, 30.0) != 0:
        sys.exit("a client failed")
    os.kill(pid, signal.SIGTERM)
    code = wait_for_end(pid, 60.0)
    if code != 0:
        sys.exit(f"the last service ended with {code}: {LOG.read_text()[-2000:]}")
    sys.stdout.write(json.dumps({"killed": killed}) + "\n")


if __name__ == "__main__":
    main()
