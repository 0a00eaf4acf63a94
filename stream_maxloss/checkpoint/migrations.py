"""Bringing checkpoints of older formats up to the present one.

When the format changes, raise `FORMAT_VERSION` by one and register how to get there:

    @MIGRATIONS.register(1)
    def _split_counters(content: Content) -> Content: ...

A migration gets the content as version 1 held it and returns it as version 2 does; it may change the content in place.
Checkpoints on the disk are never rewritten: the next save writes the new version.
"""

from __future__ import annotations

from collections.abc import Callable

from stream_maxloss.checkpoint.content import Content
from stream_maxloss.checkpoint.damage import RefusedError
from stream_maxloss.checkpoint.manifest import FORMAT_VERSION

__all__ = ["MIGRATIONS", "Migration", "Migrations"]

Migration = Callable[[Content], Content]


class Migrations:
    """Steps from each version of the format to the next.

    Parameters
    ----------
    current
        The version that everything is brought to.

    Examples
    --------
    >>> from stream_maxloss.checkpoint import Content
    >>> from stream_maxloss.checkpoint.migrations import Migrations
    >>> migrations = Migrations(current=2)
    >>> @migrations.register(1)
    ... def rename_seen(content: Content) -> Content:
    ...     content.counters["rows"] = content.counters.pop("seen")
    ...     return content
    >>> migrations.migrate(Content(counters={"seen": 5}), version=1).counters
    {'rows': 5}

    """

    def __init__(self, current: int) -> None:
        self.current = current
        self._steps: dict[int, Migration] = {}

    def register(self, version: int) -> Callable[[Migration], Migration]:
        """Return a decorator that registers a function as the one step from `version` to the version after it."""
        if not 0 <= version < self.current:
            raise ValueError(f"version must be from 0 to below {self.current}, got {version!r}")
        if version in self._steps:
            raise ValueError(f"version must have one migration, got a second one for {version!r}")

        def add(step: Migration) -> Migration:
            self._steps[version] = step
            return step

        return add

    def check(self, version: int) -> None:
        """Raise `RefusedError` unless there is a way from `version` to the current one."""
        for step in range(version, self.current):
            if step not in self._steps:
                raise RefusedError(
                    f"format_version must be {self.current} or one that can be migrated, got {version}: no migration "
                    f"from {step} to {step + 1}; resume with the release that wrote it"
                )

    def migrate(self, content: Content, version: int) -> Content:
        """Bring content of `version` to the current version, or raise as `check` does."""
        self.check(version)
        for step in range(version, self.current):
            content = self._steps[step](content)
        return content


MIGRATIONS = Migrations(FORMAT_VERSION)
