"""Run the tests that failed last time once more: `python -m tools.failed_tests --most 5 [-- PYTEST ARGUMENTS]`."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["last_failed"]

CACHE = Path(".pytest_cache/v/cache/lastfailed")
GROUP = re.compile(r"@\w+$")
"""What pytest-xdist puts behind the name of a test that shares a worker with others."""


def last_failed(cache: Path = CACHE) -> list[str]:
    """Return the names of the tests that failed in the last run, as pytest has kept them."""
    return sorted(GROUP.sub("", name) for name in json.loads(cache.read_text())) if cache.exists() else []


def main() -> None:
    """Run them; leave with pytest's exit code, or with 1 where there are none or too many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=5, help="how many may have failed")
    parser.add_argument("arguments", nargs="*", help="for pytest")
    options = parser.parse_args()
    failed = last_failed()
    if not 0 < len(failed) <= options.most:
        sys.exit(f"failed tests must be 1 to {options.most} to be run once more, got {len(failed)}; mend them")
    sys.exit(
        subprocess.run([sys.executable, "-m", "pytest", "-v", *options.arguments, *failed], check=False).returncode
    )


if __name__ == "__main__":
    main()
