"""Bytes on a real socket: heads without end, requests that dribble, and requests within requests."""

from __future__ import annotations

import asyncio
import socket

import pytest

from stream_maxloss.serve.http.application import Application, Route
from stream_maxloss.serve.http.exchange import Answer
from stream_maxloss.serve.limits import Limits
from stream_maxloss.serve.server import make_server, run_server
from stream_maxloss.serve.tokens import Right

HEAD = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def exchanged():
    """Gives a function that sends parts of bytes with pauses, and returns all that comes back until the end."""

    async def echo(request):
        return Answer.json({"bytes": len(request.body)})

    def run(*parts, seconds=30.0, pause=0.0, eof=False):
        async def main():
            listening = socket.create_server(("127.0.0.1", 0))
            application = Application([Route("POST", "/echo", echo, Right.NONE)])
            server = make_server(application, Limits())
            serving = asyncio.create_task(run_server(server, listening, seconds))
            while not server.started:
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(pause)
                if eof:
                    writer.write_eof()
                return await asyncio.wait_for(reader.read(), 20.0)
            finally:
                writer.close()
                server.should_exit = True
                await serving

        return asyncio.run(main())

    return run


def statuses(answer: bytes) -> list[int]:
    return [int(part.split()[0]) for part in answer.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "sent", [b"", b"POST /ec", HEAD, HEAD + b"Content-Length: 10\r\n\r\n12345"], ids=["nothing", "line", "head", "body"]
)
def test_a_request_that_does_not_come_in_time_is_hung_up_on(exchanged, sent):
    assert statuses(exchanged(sent, seconds=0.4)) == [408]


def test_the_second_request_of_a_connection_must_come_in_time_too(exchanged):
    whole = HEAD + b"Content-Length: 2\r\n\r\n{}"
    assert statuses(exchanged(whole, b"POST /echo HT", seconds=0.4, pause=0.2)) == [200, 408]


def test_a_head_without_end_is_refused_before_it_is_kept(exchanged):
    assert statuses(exchanged(HEAD, *[b"X-Filler: " + b"a" * 8000 + b"\r\n"] * 9)) == [431]


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}",
        b"Content-Length: +2\r\n\r\n{}",
        b"Content-Length: 2 \r\nContent-Length: x\r\n\r\n{}",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    ],
)
def test_a_request_whose_length_can_be_read_in_two_ways_is_refused(exchanged, framing):
    found = statuses(exchanged(HEAD + framing, eof=True))
    assert found in ([400], [400, 400]), found
