"""The client that awaits."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from stream_maxloss.client.calls import PAUSES, RETRIED, Asking, Call, connection, read_answer

__all__ = ["AsyncClient"]


class AsyncClient(Asking):
    """Asks a service of `maxloss serve`, from a coroutine; otherwise as `Client`.

    Requests to learn carry a key, and are sent again when the service is busy or the connection breaks: the rows are
    learned once all the same.

    Parameters
    ----------
    url, token, timeout
        As for `Client`.

    Examples
    --------
    >>> import asyncio
    >>> from stream_maxloss.client import AsyncClient
    >>> async def ask():
    ...     async with AsyncClient("http://127.0.0.1:9") as client:
    ...         return await client.ready()
    >>> asyncio.run(ask())
    False

    """

    def __init__(self, url: str = "http://127.0.0.1:8080", token: str | None = None, timeout: float = 30.0) -> None:
        settings = connection("AsyncHTTPTransport", url, token, timeout)
        import httpx

        self._http = httpx.AsyncClient(**settings)
        self._pauses = PAUSES

    async def ready(self) -> bool:
        """Return whether the service answers."""
        import httpx

        try:
            return bool((await self._http.get("/v2/health/ready")).status_code == 200)
        except httpx.TransportError:
            return False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: Call) -> Any:
        import httpx

        for pause in (*self._pauses, None):
            try:
                answer = await self._http.request(call.method, call.path, content=call.content, headers=call.headers)
            except httpx.TransportError:
                if pause is None:
                    raise
            else:
                if answer.status_code not in RETRIED or pause is None:
                    return read_answer(answer.status_code, answer.headers.get("content-type", ""), answer.content)
            await asyncio.sleep(pause)
        return None
