"""The files beside the tests stand for third-party packages: the tests import them, the doctest collector must not."""

from __future__ import annotations

from pathlib import Path

collect_ignore = [path.name for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")]
