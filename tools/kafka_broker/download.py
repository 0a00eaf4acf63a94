"""Fetch Apache Kafka's server from Maven, once, into a cache folder."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_maxloss.errors import SourceError

__all__ = ["cache_folder", "fetch_kafka"]

# Kafka's version with the version of log4j that its build names. The first that resolves is taken: 4.1 runs on Java 17
# and has had its patch releases; the others are there for mirrors that do not hold it.
VERSIONS = (("4.1.2", "2.25.3"), ("4.1.1", "2.25.3"), ("4.3.1", "2.25.4"), ("4.2.1", "2.25.4"), ("4.0.2", "2.25.3"))

_COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

# Seconds for one version; without a network Maven gives up much sooner.
_DOWNLOAD_TIMEOUT = 600


def cache_folder() -> Path:
    """Return `$STREAM_MAXLOSS_CACHE`, else `.cache` of the current directory."""
    return Path(os.environ.get("STREAM_MAXLOSS_CACHE") or ".cache").resolve()


def fetch_kafka(cache: Path | None = None) -> Path:
    """Return the folder with the server's jars, downloading them if they are not there.

    Two processes may call this at once: a file lock lets the second wait for the first, and a folder only gets its
    final name when it is complete.

    Parameters
    ----------
    cache
        Where to keep them; `cache_folder()` by default.

    Raises
    ------
    SourceError
        If a tool is missing or no version can be downloaded.

    """
    _require_java()
    root = (cache or cache_folder()) / "kafka"
    root.mkdir(parents=True, exist_ok=True)
    with _lock(root / "lock"):
        for kafka, _ in VERSIONS:
            if (root / kafka).is_dir():
                return root / kafka
        if shutil.which("mvn") is None:
            raise SourceError("a local Kafka broker needs Maven to be downloaded; there is no 'mvn' on the path")
        return _download_any(root)


def _download_any(root: Path) -> Path:
    reasons = []
    for kafka, log4j in VERSIONS:
        reason = _download(root, kafka, log4j)
        if reason is None:
            return root / kafka
        reasons.append(f"{kafka}: {reason}")
    raise SourceError("org.apache.kafka:kafka_2.13 must be downloadable by Maven, got " + "; ".join(reasons))


def _download(root: Path, kafka: str, log4j: str) -> str | None:
    """Fill `root/kafka`; return what went wrong."""
    work = root / f".partial-{kafka}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "pom.xml").write_text(_pom(kafka, log4j))
    command = ["mvn", "-B", "-q", _COPY_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'jars'}"]
    try:
        done = subprocess.run(
            command, cwd=work, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode != 0:
        return next((line for line in done.stdout.splitlines() if "ERROR" in line), "Maven failed")[:300]
    (work / "jars").rename(root / kafka)
    shutil.rmtree(work, ignore_errors=True)
    return None


def _pom(kafka: str, log4j: str) -> str:
    # Kafka publishes no logging binding, and its server does not start without one.
    wanted = [("org.apache.kafka", "kafka_2.13", kafka)]
    wanted += [("org.apache.logging.log4j", name, log4j) for name in ("log4j-api", "log4j-core", "log4j-slf4j-impl")]
    dependencies = "\n".join(
        f"    <dependency>\n      <groupId>{group}</groupId>\n      <artifactId>{name}</artifactId>\n"
        f"      <version>{version}</version>\n    </dependency>"
        for group, name, version in wanted
    )
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>stream-maxloss</groupId>
  <artifactId>local-broker</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


def _require_java() -> None:
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError("a local Kafka broker needs Java 17 or later; there is no 'java' on the path") from error
    found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    if found is None or int(found.group(1)) < 17:
        raise SourceError(f"a local Kafka broker needs Java 17 or later, got {found.group(1) if found else 'unknown'}")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
