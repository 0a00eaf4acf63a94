"""The manifest of a checkpoint: what it is, where the run stood, and the digest of every file.

It is JSON whose last member is the digest of all that stands before it. So a manifest that the disk garbled is told
from one that somebody wrote on purpose: the first is *damaged* and the checkpoint before it takes over, the second is
*refused*. The digests protect from accidents. They do not tell who wrote a checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stream_maxloss.checkpoint import values as json_values
from stream_maxloss.checkpoint.content import Origin
from stream_maxloss.checkpoint.damage import DamagedError, RefusedError
from stream_maxloss.checkpoint.encoding import is_known_file
from stream_maxloss.checkpoint.files import FileEntry

__all__ = ["FORMAT", "FORMAT_VERSION", "MANIFEST_FILE", "MAX_MANIFEST_BYTES", "Manifest", "parse_manifest", "seal"]

FORMAT = "stream-maxloss-checkpoint"
FORMAT_VERSION = 1
MANIFEST_FILE = "manifest.json"
MAX_MANIFEST_BYTES = 64 << 20
_MAX_FILES = 1000
_SEAL = re.compile(rb',\n"sha256":"([0-9a-f]{64})"\n}\n\Z')
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Manifest:
    """A manifest whose every field was checked: fields of `Content`, and length and digest of every other file."""

    origin: Origin
    finite: list[str]
    sources: dict[str, Any]
    outputs: dict[str, int]
    counters: dict[str, int]
    files: dict[str, FileEntry]

    def to_bytes(self) -> bytes:
        """Return the sealed text of it; a field that `parse_manifest` would not take is a TypeError or ValueError."""
        fields = {
            "format": FORMAT,
            "format_version": self.origin.format_version,
            "seq": self.origin.seq,
            "parent_seq": self.origin.parent_seq,
            "run_id": self.origin.run_id,
            "created_at": self.origin.created_at,
            "libraries": dict(self.origin.libraries),
            "counters": self.counters,
            "sources": self.sources,
            "outputs": self.outputs,
            "finite": self.finite,
            "files": {name: {"bytes": entry.bytes, "sha256": entry.sha256} for name, entry in self.files.items()},
        }
        _check_fields(fields)
        return seal(fields)


def seal(fields: Mapping[str, Any]) -> bytes:
    """Return the fields as JSON, one to a line, with the digest of the text as the last."""
    lines = [f"{json.dumps(name)}:{json_values.encode(value, name)}" for name, value in fields.items()]
    body = ("{\n" + ",\n".join(lines)).encode("ascii")
    return body + f',\n"sha256":"{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode("ascii")


def parse_manifest(data: bytes) -> Manifest:
    """Check a manifest and return it.

    A text that is not what was written is a `DamagedError`; one that this version does not read, a `RefusedError`.
    """
    match = _SEAL.search(data)
    if match is None or hashlib.sha256(data[: match.start()]).hexdigest().encode() != match[1]:
        raise DamagedError(f"{MANIFEST_FILE} is not what was written: its own digest is missing or wrong")
    try:
        fields = json_values.decode(data)
        _check_format(fields)
        _check_fields(fields)
    except (ValueError, TypeError) as error:
        raise RefusedError(f"{MANIFEST_FILE}: {error}") from error
    origin_fields = ("seq", "parent_seq", "run_id", "created_at", "libraries", "format_version")
    return Manifest(
        origin=Origin(**{name: fields[name] for name in origin_fields}),
        finite=fields["finite"],
        sources=fields["sources"],
        outputs=fields["outputs"],
        counters=fields["counters"],
        files={name: FileEntry(**entry) for name, entry in fields["files"].items()},
    )


def _check_format(fields: Any) -> None:
    # Every version of the format keeps `format`, `format_version` and the seal as they are, so this works on all.
    if type(fields) is not dict or fields.get("format") != FORMAT:
        found = fields.get("format") if type(fields) is dict else fields
        raise ValueError(f"format must be {FORMAT!r}, got {found!r}; this is no checkpoint of stream-maxloss")
    version = fields.get("format_version")
    if type(version) is not int or version < 0:
        raise ValueError(f"format_version must be a whole number, got {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"format_version must be at most {FORMAT_VERSION}, got {version}: written by a newer version; "
            "upgrade stream-maxloss"
        )


def _check_fields(fields: dict[str, Any]) -> None:
    kinds: dict[str, type] = {"seq": int, "run_id": str, "created_at": str, "finite": list}
    kinds |= dict.fromkeys(("libraries", "counters", "sources", "outputs", "files"), dict)
    for name, kind in kinds.items():
        if type(fields.get(name)) is not kind:
            raise ValueError(f"{name} must be of type {kind.__name__}, got {fields.get(name)!r}")
    seq, parent = fields["seq"], fields.get("parent_seq")
    if seq < 1:
        raise ValueError(f"seq must be at least 1, got {seq}")
    if parent is not None and (type(parent) is not int or not 1 <= parent < seq):
        raise ValueError(f"parent_seq must be null or a number from 1 to below seq {seq}, got {parent!r}")
    _check_each("libraries", fields["libraries"], str)
    _check_each("finite", dict(enumerate(fields["finite"])), str)
    _check_counts("counters", fields["counters"])
    _check_counts("outputs", fields["outputs"])
    _check_files(fields["files"])


def _check_each(name: str, entries: Mapping[Any, Any], kind: type) -> None:
    for key, value in entries.items():
        if type(value) is not kind:
            raise ValueError(f"{name}[{key!r}] must be of type {kind.__name__}, got {value!r}")


def _check_counts(name: str, entries: dict[str, Any]) -> None:
    for key, value in entries.items():
        if type(value) is not int or value < 0:
            raise ValueError(f"{name}[{key!r}] must be a whole number, got {value!r}")


def _check_files(files: dict[str, Any]) -> None:
    if len(files) > _MAX_FILES:
        raise ValueError(f"files must be at most {_MAX_FILES}, got {len(files)}")
    for name, entry in files.items():
        if not is_known_file(name):
            raise ValueError(
                f"files must be plain names such as 'arrays.safetensors' or 'window.arrow', got {name!r}; "
                "do not trust this checkpoint"
            )
        if type(entry) is not dict or entry.keys() != {"bytes", "sha256"}:
            raise ValueError(f"files[{name!r}] must have bytes and sha256, got {entry!r}")
        if type(entry["bytes"]) is not int or entry["bytes"] < 0:
            raise ValueError(f"files[{name!r}].bytes must be a whole number, got {entry['bytes']!r}")
        if type(entry["sha256"]) is not str or _DIGEST.fullmatch(entry["sha256"]) is None:
            raise ValueError(f"files[{name!r}].sha256 must be 64 hexadecimal digits, got {entry['sha256']!r}")
