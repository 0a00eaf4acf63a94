"""Which column is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stream_maxloss.errors import UsageError
from stream_maxloss.run.closest import closest

__all__ = ["Columns", "MissingColumnError"]


class MissingColumnError(UsageError):
    """A column is not there.

    Parameters
    ----------
    role
        What it was to be: `target`, `weight`, `slice_by`, `key`, `time`, `keep`, `model_per`, `features` or `exclude`.
    name
        The column.
    names
        The columns that there are.

    """

    def __init__(self, role: str, name: str, names: Sequence[str]) -> None:
        super().__init__(f"{role} must name a column, got {name!r}; {closest(name, names)}")
        self.role = role


@dataclass(frozen=True)
class Columns:
    """Which column is what.

    Parameters
    ----------
    target
        The label's column; None where rows have none.
    weight, slice_by
        Columns of sample weights and of slices.
    features
        Columns to learn from; empty for all but the other three.
    exclude
        Columns not to learn from.
    key, time
        Columns that say which row it is and when it came; predictions carry them as `key` and `time`. The key is not
        learned from unless `features` names it.
    keep
        Further columns that predictions carry, under their own names.
    may_lack
        Which of target, key and time may be missing: labels that come from elsewhere, and columns that were named
        when the model was learned.
    model_per
        Column whose every value has a model of its own; it is no feature.

    """

    target: str | None
    weight: str | None = None
    slice_by: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    key: str | None = None
    time: str | None = None
    keep: tuple[str, ...] = ()
    may_lack: tuple[str, ...] = ()
    model_per: str | None = None

    @property
    def wanted(self) -> list[str] | None:
        """Columns that a source has to read, None for all."""
        if not self.features:
            return None
        roles = {"target": self.target, "weight": self.weight, "slice_by": self.slice_by, "key": self.key}
        roles |= {"time": self.time, "model_per": self.model_per}
        named = [name for role, name in roles.items() if name is not None and role not in self.may_lack]
        others = [*named, *self.keep]
        if any("." in name for name in (*self.features, *others)):
            return None  # it may be a field of a nested column
        return list(dict.fromkeys([*(n for n in self.features if n not in self.exclude), *others]))

    def choose(self, names: Sequence[str]) -> list[str]:
        """Return the features among the columns of a source.

        Raises
        ------
        MissingColumnError
            If a named column is not there.

        """
        asked = {"target": [self.target], "weight": [self.weight], "slice_by": [self.slice_by]}
        asked |= {"key": [self.key], "time": [self.time], "keep": list(self.keep), "model_per": [self.model_per]}
        for role, wanted in {**asked, "features": self.features, "exclude": self.exclude}.items():
            for name in wanted:
                is_set = role in SETS and fields_of(name or "", names)
                if name is not None and name not in names and not is_set and role not in self.may_lack:
                    raise MissingColumnError(role, name, names)
        excluded = {field for name in self.exclude for field in (name, *fields_of(name, names))} | {self.model_per}
        if self.features:
            asked_for = [
                field for name in self.features for field in ([name] if name in names else fields_of(name, names))
            ]
            return [name for name in dict.fromkeys(asked_for) if name not in excluded]
        taken = {self.target, self.weight, self.slice_by, self.key} | excluded
        return [name for name in names if name not in taken]


SETS = ("features", "exclude")


def fields_of(name: str, names: Sequence[str]) -> list[str]:
    """Return the columns that a nested column of this name was flattened into."""
    return [other for other in names if other.startswith(f"{name}.")]
