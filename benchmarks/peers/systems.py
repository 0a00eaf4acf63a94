"""Every system by name: how it is set up, which labels it takes, and how to run it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import baselines, capymoa_models, lightgbm_refits, ours, river_models, vowpal_models
from benchmarks.streams.catalogue import Entry
from benchmarks.streams.stream import BINARY, CLASSES, NUMBER, Stream

__all__ = ["SYSTEMS", "System", "find_system", "version_of"]

ALL = (BINARY, CLASSES, NUMBER)
# Rooms of ours that no answer of a model depends on.
BESIDES = ("__init__.py", "checkpoint", "cli", "concepts", "leverage", "metrics", "run")
Prepare = Callable[[str, Stream], Callable[[], NDArray[np.float64]]]


@dataclass(frozen=True)
class System:
    """One way to answer a stream.

    Parameters
    ----------
    words
        How it is set up, for the page.
    family
        The group that it is drawn with.
    prepare
        Returns the run, given the system's name and the stream.
    library
        The distribution whose version counts; none for ours and the baselines.
    kinds
        The kinds of labels that it takes.
    wide
        Whether it takes sparse rows over thousands of columns.

    """

    words: str
    family: str
    prepare: Prepare
    library: str = ""
    kinds: tuple[str, ...] = ALL
    wide: bool = True

    def takes(self, entry: Entry) -> bool:
        """Return whether it is run on a stream."""
        return entry.kind in self.kinds and (self.wide or not entry.wide)


def river(name: str, words: str) -> System:
    """Return one of River's, whose trees look at every column."""
    return System(words, "River", river_models.prepare, "river", wide=name == "River linear")


def capymoa(name: str, words: str) -> System:
    """Return one of CapyMOA's, which have no random patches for numbers."""
    kinds = (BINARY, CLASSES) if name == "CapyMOA SRP10" else ALL
    return System(words, "CapyMOA", capymoa_models.prepare, "capymoa", kinds, wide=False)


SYSTEMS = {
    **{name: System(words, "ours", ours.prepare, kinds=kinds) for name, (words, kinds) in ours.OURS.items()},
    **{name: System(words, "baseline", baselines.prepare) for name, words in baselines.BASELINES.items()},
    **{name: river(name, words) for name, words in river_models.RIVER.items()},
    **{name: capymoa(name, words) for name, words in capymoa_models.CAPYMOA.items()},
    **{
        name: System(words, "LightGBM", lightgbm_refits.prepare, "lightgbm")
        for name, words in lightgbm_refits.LIGHTGBM.items()
    },
    **{
        name: System(words, "VW", vowpal_models.prepare, "vowpalwabbit") for name, words in vowpal_models.VOWPAL.items()
    },
}


def find_system(name: str) -> System:
    """Return a system by name, or the factory `module:callable` as one of ours.

    Raises
    ------
    ValueError
        If there is no such name.

    """
    if name in SYSTEMS:
        return SYSTEMS[name]
    if ":" in name and " " not in name:
        return System(f"`{name}()`", "ours", ours.prepare)
    known = ", ".join(SYSTEMS)
    raise ValueError(f"a system must be one of {known} or a factory module:callable, got {name!r}; name one of them")


def version_of(system: System) -> str:
    """Return what a result depends on besides the stream: a peer's version, or a digest of our sources."""
    if system.library:
        try:
            return f"{system.library} {metadata.version(system.library)}"
        except metadata.PackageNotFoundError:
            return f"{system.library}, not installed"
    if system.family == "baseline":
        return "1"
    import stream_maxloss

    folder = Path(stream_maxloss.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] not in BESIDES:
            digest.update(path.read_bytes())
    return f"stream-maxloss {stream_maxloss.__version__}+{digest.hexdigest()[:12]}"
