from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from stream_maxloss.checkpoint import Origin
from stream_maxloss.checkpoint.damage import DamagedError, RefusedError
from stream_maxloss.checkpoint.files import FileEntry
from stream_maxloss.checkpoint.manifest import FORMAT_VERSION, Manifest, parse_manifest, seal

ORIGIN = Origin(7, 6, "run", "2026-01-01T00:00:00+00:00", {"numpy": "2.4"}, FORMAT_VERSION)
MANIFEST = Manifest(
    ORIGIN,
    finite=["w"],
    sources={"a": {"offset": 3}},
    outputs={"out": 5},
    counters={"seen": 9},
    files={"arrays.safetensors": FileEntry(8, "0" * 64), "extra.json": FileEntry(2, "f" * 64)},
)


def test_a_manifest_is_read_back_and_is_plain_json() -> None:
    assert parse_manifest(MANIFEST.to_bytes()) == MANIFEST
    assert json.loads(MANIFEST.to_bytes())["counters"] == {"seen": 9}


def test_every_flipped_bit_and_every_cut_is_damage_and_never_a_refusal() -> None:
    good = MANIFEST.to_bytes()
    for place in range(8 * len(good)):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        with pytest.raises(DamagedError, match="its own digest"):
            parse_manifest(bytes(bad))
    for length in range(len(good)):
        with pytest.raises(DamagedError, match="its own digest"):
            parse_manifest(good[:length])


def put(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        for name in path[:-1]:
            fields = fields[name]
        fields[path[-1]] = value

    return change


ENTRY = {"bytes": 1, "sha256": "0" * 64}
WRONG = {
    "format": (put("format", value="other"), "format must be 'stream-maxloss-checkpoint', got 'other'; this is no"),
    "newer": (put("format_version", value=99), "at most 1, got 99: written by a newer version; upgrade stream-maxloss"),
    "version-text": (put("format_version", value="1"), "format_version must be a whole number, got '1'"),
    "version-bool": (put("format_version", value=True), "format_version must be a whole number, got True"),
    "version-negative": (put("format_version", value=-1), "format_version must be a whole number, got -1"),
    "seq-zero": (put("seq", value=0), "seq must be at least 1, got 0"),
    "seq-bool": (put("seq", value=True), "seq must be of type int, got True"),
    "parent": (put("parent_seq", value=7), "parent_seq must be null or a number from 1 to below seq 7, got 7"),
    "run": (put("run_id", value=None), "run_id must be of type str, got None"),
    "libraries": (put("libraries", "numpy", value=2), r"libraries\['numpy'\] must be of type str, got 2"),
    "finite": (put("finite", value=[1]), r"finite\[0\] must be of type str, got 1"),
    "sources": (put("sources", value=[]), r"sources must be of type dict, got \[\]"),
    "output": (put("outputs", "out", value=-5), r"outputs\['out'\] must be a whole number, got -5"),
    "counter": (put("counters", "seen", value=1.5), r"counters\['seen'\] must be a whole number, got 1.5"),
    "many": (put("files", value={f"t{n}.arrow": ENTRY for n in range(1001)}), "at most 1000, got 1001"),
    "parent-path": (
        put("files", "../../etc/passwd", value=ENTRY),
        "plain names .* got '../../etc/passwd'; do not trust",
    ),
    "parent-table": (put("files", "../window.arrow", value=ENTRY), r"plain names .* got '\.\./window\.arrow'"),
    "absolute": (put("files", "/etc/passwd", value=ENTRY), "plain names .* got '/etc/passwd'"),
    "absolute-table": (put("files", "/tmp/window.arrow", value=ENTRY), "plain names .* got '/tmp/window.arrow'"),
    "folder": (put("files", "a/window.arrow", value=ENTRY), "plain names"),
    "backslash": (put("files", "a\\window.arrow", value=ENTRY), "plain names"),
    "nul": (put("files", "window\0.arrow", value=ENTRY), "plain names"),
    "newline": (put("files", "window.arrow\n", value=ENTRY), "plain names"),
    "dots": (put("files", "..", value=ENTRY), "plain names"),
    "empty": (put("files", "", value=ENTRY), "plain names"),
    "itself": (put("files", "manifest.json", value=ENTRY), "plain names"),
    "program": (put("files", "evil.so", value=ENTRY), "plain names"),
    "entry": (put("files", "extra.json", value=[1]), "must have bytes and sha256"),
    "entry-more": (put("files", "extra.json", value={**ENTRY, "path": "/x"}), "must have bytes and sha256"),
    "bytes": (put("files", "extra.json", "bytes", value=-1), "bytes must be a whole number, got -1"),
    "bytes-inf": (put("files", "extra.json", "bytes", value=float("inf")), "bytes must be a whole number, got inf"),
    "digest": (put("files", "extra.json", "sha256", value="0" * 63), "64 hexadecimal digits"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_manifest_written_wrong_on_purpose_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    fields = json.loads(MANIFEST.to_bytes())
    del fields["sha256"]
    change(fields)
    with pytest.raises(RefusedError, match=message):
        parse_manifest(seal(fields))


@pytest.mark.parametrize("name", ["seq", "run_id", "created_at", "libraries", "sources", "files", "finite"])
def test_a_missing_field_is_refused(name: str) -> None:
    fields = json.loads(MANIFEST.to_bytes())
    del fields["sha256"], fields[name]
    with pytest.raises(RefusedError, match=f"{name} must be of type .*, got None"):
        parse_manifest(seal(fields))


def test_a_name_given_twice_is_refused() -> None:
    class Twice(dict[str, Any]):
        def items(self) -> Any:
            return [*super().items(), ("files", {"extra.json": ENTRY})]

    fields = json.loads(MANIFEST.to_bytes())
    del fields["sha256"]
    with pytest.raises(RefusedError, match="'files' twice"):
        parse_manifest(seal(Twice(fields)))
