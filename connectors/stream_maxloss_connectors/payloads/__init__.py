"""Messages as rows: decoders that keep every message's place, so that a bad one costs only itself."""

from __future__ import annotations
