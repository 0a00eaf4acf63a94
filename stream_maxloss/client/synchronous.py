"""The client that waits."""

from __future__ import annotations

import time
from typing import Any, Self

from stream_maxloss.client.calls import PAUSES, RETRIED, Asking, Call, connection, read_answer

__all__ = ["Client"]


class Client(Asking):
    """Asks a service of `maxloss serve`.

    Requests to learn carry a key, and are sent again when the service is busy or the connection breaks: the rows are
    learned once all the same.

    Parameters
    ----------
    url
        `http://127.0.0.1:8080`, or `unix:/run/maxloss.sock`.
    token
        What `--token-file` of the service names; None where there is none.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> from stream_maxloss.client import Client
    >>> client = Client("http://127.0.0.1:9")
    >>> client.ready()
    False
    >>> client.close()

    """

    def __init__(self, url: str = "http://127.0.0.1:8080", token: str | None = None, timeout: float = 30.0) -> None:
        settings = connection("HTTPTransport", url, token, timeout)
        import httpx

        self._http = httpx.Client(**settings)
        self._pauses = PAUSES

    def ready(self) -> bool:
        """Return whether the service answers."""
        import httpx

        try:
            return bool(self._http.get("/v2/health/ready").status_code == 200)
        except httpx.TransportError:
            return False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call) -> Any:
        import httpx

        for pause in (*self._pauses, None):
            try:
                answer = self._http.request(call.method, call.path, content=call.content, headers=call.headers)
            except httpx.TransportError:
                if pause is None:
                    raise
            else:
                if answer.status_code not in RETRIED or pause is None:
                    return read_answer(answer.status_code, answer.headers.get("content-type", ""), answer.content)
            time.sleep(pause)
        return None
