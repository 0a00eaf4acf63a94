"""Heavy modules that others import at their top, loaded only when something of them is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

__all__ = ["LateImports"]

LATE = frozenset({"scipy.integrate", "scipy.stats"})
"""What `river.metrics` imports for its geometric mean and its area under the curve alone: half of a run's start."""


class LateImports(MetaPathFinder):
    """Finds the modules of `LATE` so that they are loaded when one of their attributes is first asked for.

    This is a choice for a process of its own, as a command is, not for a library.

    Examples
    --------
    >>> import sys
    >>> from stream_maxloss.cli.late_imports import LateImports
    >>> LateImports.install()
    >>> isinstance(sys.meta_path[0], LateImports)
    True
    >>> LateImports.remove()

    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load one of the late modules, None for all others."""
        if fullname not in LATE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec

    @classmethod
    def install(cls) -> None:
        """Start to put imports off, once."""
        if not any(isinstance(finder, cls) for finder in sys.meta_path):
            sys.meta_path.insert(0, cls())

    @classmethod
    def remove(cls) -> None:
        """Import at once again."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, cls)]
