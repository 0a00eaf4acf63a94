"""The service over HTTP, as an ASGI application."""

from __future__ import annotations
