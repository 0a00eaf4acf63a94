"""Schemas by number: from a mapping, or from a schema registry over HTTP."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from stream_maxloss.errors import SourceError

__all__ = ["SchemaRegistry"]


class SchemaRegistry:
    """Looks schemas up by the number that a message carries, and asks the server once for each.

    Parameters
    ----------
    schemas
        Schemas that are known beforehand, by number, as parsed JSON or as text.
    url
        Address of the registry; None to use only `schemas`.
    user_info
        `user:password` for it, never shown.
    timeout
        Seconds to wait for an answer.

    """

    def __init__(
        self,
        schemas: Mapping[int, Any] | None = None,
        url: str | None = None,
        user_info: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.url = None if url is None else url.rstrip("/")
        self.timeout = timeout
        self._schemas = {int(number): _parsed(schema) for number, schema in (schemas or {}).items()}
        self._authorization = None if user_info is None else base64.b64encode(user_info.encode()).decode("ascii")

    def get(self, number: int) -> Any | None:
        """Return a schema as parsed JSON, or None if there is none of that number.

        Raises
        ------
        SourceError
            If the registry does not answer, or answers something else.

        """
        if number not in self._schemas and self.url is not None:
            # An unknown number is remembered too: a topic of foreign messages must not ask once for each of them.
            self._schemas[number] = self._fetch(number)
        return self._schemas.get(number)

    def _fetch(self, number: int) -> Any | None:
        request = urllib.request.Request(f"{self.url}/schemas/ids/{number}")
        request.add_header("Accept", "application/vnd.schemaregistry.v1+json, application/json")
        if self._authorization is not None:
            request.add_header("Authorization", f"Basic {self._authorization}")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise SourceError(f"{self.url}: schema {number} was not given, got HTTP status {error.code}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise SourceError(f"{self.url}: the schema registry does not answer ({error})") from error
        if not isinstance(answer, dict) or "schema" not in answer or answer.get("schemaType", "AVRO") != "AVRO":
            raise SourceError(f"{self.url}: schema {number} must be an Avro schema, got {answer!r:.100}")
        return _parsed(answer["schema"])


def _parsed(schema: Any) -> Any:
    try:
        return json.loads(schema) if isinstance(schema, str) else schema
    except (ValueError, RecursionError) as error:
        raise SourceError(f"a schema of the registry must be JSON, got {error}; correct it there") from error
