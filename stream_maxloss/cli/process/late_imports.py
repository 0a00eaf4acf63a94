"""Heavy modules that others import at their top, loaded only when something of them is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["LateImports"]

LATE = frozenset(
    {
        # What `river.metrics` imports for its geometric mean and its area under the curve alone, and what numba imports
        # for one module inside of it.
        "scipy.integrate",
        "scipy.linalg",
        "scipy.stats",
        # What River reads frames with, where it is given one.
        "narwhals",
        "narwhals.stable",
        "narwhals.stable.v2",
        # Where numba keeps its functions on arrays: a kernel from the disk holds those that it calls, and names it.
        "numba.np.arrayobj",
    }
)
"""Modules that a run may not need: more than half of its start."""


class LateModule(ModuleType):
    """A module that runs its code when something is first asked of it that it does not have.

    The standard library's `LazyLoader` runs it at any question, and a package is asked for its path whenever a module
    inside of it is imported.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__spec__ is None or not isinstance(self.__spec__.loader, LateLoader):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        loader = self.__spec__.loader.loader
        # Before it runs: its code, too, may ask for what it does not have yet.
        self.__class__ = ModuleType  # type: ignore[assignment]
        loader.exec_module(self)
        return getattr(self, name)


class LateLoader(Loader):
    """Makes a module without running it.

    Parameters
    ----------
    loader
        What runs it.

    """

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it for later."""


class LateImports(MetaPathFinder):
    """Finds the modules of `LATE` so that they are run when they are first used.

    This is a choice for a process of its own, as a command is, not for a library.

    Examples
    --------
    >>> import sys
    >>> from stream_maxloss.cli.process.late_imports import LateImports
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
            spec.loader = LateLoader(spec.loader)
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
