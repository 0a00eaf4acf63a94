"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["describe", "in_words"]

LIBRARIES = (
    "stream-maxloss",
    "numpy",
    "numba",
    "pyarrow",
    "river",
    "scikit-learn",
    "scipy",
    "cpprb",
    "sumtree",
    "discrete-dists",
    "vowpalwabbit",
    "confluent-kafka",
)


def version_of(library: str) -> str:
    """Return the installed version of a library, this one's also where it runs from its sources."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        if library != "stream-maxloss":
            return "not installed"
    import stream_maxloss

    return stream_maxloss.__version__


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def describe() -> dict[str, Any]:
    """Return processor, cores, memory, load, system, Python and the versions of everything compared."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "load": [round(load, 2) for load in os.getloadavg()],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {library: version_of(library) for library in LIBRARIES},
    }


def in_words(machine: dict[str, Any]) -> str:
    """Return the description as a sentence for the page."""
    versions = ", ".join(f"{library} {version}" for library, version in machine["versions"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}. Versions: {versions}."
    )
