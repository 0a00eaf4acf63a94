"""The client that waits."""

from __future__ import annotations

import time
from typing import Any, Self

from stream_maxloss.client.calls import (
    PAUSES,
    RETRIED,
    Call,
    connection,
    label_call,
    learn_call,
    predict_call,
    read_answer,
)

__all__ = ["Client"]


class Client:
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
        transport = None
        settings = connection(url, token, timeout)
        import httpx

        if url.startswith("unix:"):
            transport = httpx.HTTPTransport(uds=url[5:])
            settings |= {"base_url": "http://localhost", "transport": transport}
        self._http = httpx.Client(**settings)
        self._pauses = PAUSES

    def predict(self, rows: Any) -> Any:
        """Return the answer to one row (a dict), to many (`predictions` and `refused`), or a table for Arrow."""
        return self._send(predict_call(rows))

    def learn(self, rows: Any, key: str | None = None) -> Any:
        """Learn rows with their labels; return `sequence`, `rows`, `learned` and `refused`."""
        return self._send(learn_call(rows, key))

    def label(self, labels: Any, key: str | None = None) -> Any:
        """Learn rows that were predicted before: objects with the id and the target."""
        return self._send(label_call(labels, key))

    def look(self, what: str) -> Any:
        """Return `hard`, `slices`, `experts`, `schema` or `state`."""
        return self._send(Call("GET", f"/{what}"))

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
