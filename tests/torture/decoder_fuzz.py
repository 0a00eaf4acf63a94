"""Damaged records through every decoder: no error but ours, no hang, and no row that the bytes do not hold.

Run as a process of its own: `python decoder_fuzz.py RECORDS SEED` prints how many records it tried, and what failed.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stream_maxloss.errors import StreamMaxlossError
from stream_maxloss_connectors import BadRecords, open_source
from stream_maxloss_connectors.payloads.formats import make_decoder as make_payload_decoder
from stream_maxloss_connectors.text.decoders import make_decoder

sys.path.insert(0, str(Path(__file__).parent))

from mutation import damage, damage_lines

SLOWEST = 1.0  # seconds of processor time for one block, some 200 records
AVRO_KINDS: dict[str, Any] = {
    "amount": ["null", "double"],
    "kind": "string",
    "flag": "boolean",
    "shop": {"type": "enum", "name": "shops", "symbols": ["north", "south"]},
    "tags": {"type": "array", "items": "string"},
    "inner": {"type": "record", "name": "inner", "fields": [{"name": "n", "type": "long"}]},
}
AVRO_FIELDS = {7: list(AVRO_KINDS), 70_000: ["flag", "amount", "kind"]}
AVRO = {
    number: {"type": "record", "name": "row", "fields": [{"name": n, "type": AVRO_KINDS[n]} for n in names]}
    for number, names in AVRO_FIELDS.items()
}
SCHEMA = pa.schema([("amount", pa.float64()), ("kind", pa.string()), ("flag", pa.bool_())])


def text_lines(kind: str, count: int, generator: random.Random) -> list[bytes]:
    found = []
    for _ in range(count):
        amount, name, flag = generator.gauss(0, 9), f"k{generator.randrange(9)}", generator.random() < 0.5
        if kind == "jsonl":
            found.append(json.dumps({"amount": amount, "kind": name, "flag": flag}).encode())
        elif kind == "svmlight":
            found.append(f"{int(flag)} 1:{amount:.3f} {generator.randrange(2, 99)}:1".encode())
        else:
            found.append(
                ("\t" if kind == "tsv" else ",").join([f"{amount:.4f}", f'"{name}"', str(flag).lower()]).encode()
            )
    return found


def fuzz_text(kind: str, generator: random.Random) -> int:
    lines = text_lines(kind, 200, generator)
    text = b"\n".join(damage_lines(lines, generator, 0.05)) + b"\n"
    decoder: Any = make_decoder(kind)
    if kind in ("csv", "tsv"):
        decoder = decoder.with_header(SCHEMA.names)
    schema = SCHEMA if kind != "svmlight" else decoder.infer(b"\n".join(lines) + b"\n")
    if generator.random() < 0.5:
        schema = decoder.infer(text)
    frames = decoder.frame(text, True)
    block = decoder.decode(text, schema, 1, str)
    require(block.records.num_rows + len(block.faults) == len(frames.starts), "every record is a row or a fault")
    require(block.length == len(text), "all bytes are passed")
    if kind == "jsonl" and schema is SCHEMA:
        check_json_rows(text, block)
    return len(frames.starts)


def check_json_rows(text: bytes, block: Any) -> None:
    """Compare every row with what Python's own parser reads from its bytes."""
    lines = text.split(b"\n")
    for row, line in zip(block.records.to_pylist(), block.lines.tolist(), strict=True):
        value = json.loads(lines[line - 1])
        for name in SCHEMA.names:
            want, have = value.get(name), row[name]
            same = have == want or (have != have and want != want)
            require(same, f"{name} must be {want!r}, got {have!r}")


def fuzz_payloads(kind: str, generator: random.Random) -> int:
    payloads, options = make_payloads(kind, generator)
    decoder = make_payload_decoder("avro" if kind.startswith("avro") else kind, **options)
    decoder.infer(payloads)
    damaged = damage_lines(payloads, generator, 0.1)
    left = damaged
    while left:
        decoded = decoder.decode(left, 1000)
        require(decoded.messages > 0, "messages are passed")
        if kind != "arrow" and decoded.records is not None:
            rows = decoded.records.num_rows + len(decoded.bad)
            require(rows == decoded.messages, f"every message is a row or a fault, got {rows} of {decoded.messages}")
        left = left[decoded.messages :]
    return len(damaged)


def make_payloads(kind: str, generator: random.Random) -> tuple[list[bytes], dict[str, Any]]:
    """Return messages of a format, and the options of its decoder."""
    if kind == "arrow":
        table = pa.table({"amount": [generator.gauss(0, 1)] * 3, "kind": ["a", "b", "c"]})
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        return [stream.getvalue()] * 50, {}
    if kind.startswith("avro"):
        return avro_messages(kind == "avro in a registry's frame", 100, generator)
    lines = text_lines("jsonl" if kind == "json" else "csv", 100, generator)
    return lines, {"column_names": SCHEMA.names} if kind == "csv" else {}


def avro_messages(is_framed: bool, count: int, generator: random.Random) -> tuple[list[bytes], dict[str, Any]]:
    """Return Avro records, bare or behind a zero byte and the number of one of two schemas."""
    import fastavro

    found = []
    for _ in range(count):
        number = generator.choice((7, 70_000)) if is_framed else 7
        row = {"amount": generator.gauss(0, 9), "kind": f"k{generator.randrange(9)}", "flag": generator.random() < 0.5}
        row |= {"shop": generator.choice(["north", "south"]), "tags": ["a"] * generator.randrange(4), "inner": {"n": 1}}
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, AVRO[number], {name: row[name] for name in AVRO_FIELDS[number]})
        found.append((b"\0" + number.to_bytes(4, "big") if is_framed else b"") + stream.getvalue())
    return found, {"registry_schemas": AVRO} if is_framed else {"avro_schema": AVRO[7]}


def fuzz_files(kind: str, generator: random.Random) -> int:
    """A whole file that is damaged, read as a source and followed."""
    table = pa.table({"amount": [generator.gauss(0, 1) for _ in range(50)], "kind": ["a", "b"] * 25})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"rows.{kind}")
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            maker = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
            with maker(str(path), table.schema) as writer:
                writer.write_table(table, max_chunksize=10)
        path.write_bytes(damage(path.read_bytes(), generator))
        follow = {"follow": True, "until_eof": True} if kind == "arrows" and generator.random() < 0.5 else {}
        try:
            with open_source(path, bad_records=BadRecords("skip"), **follow) as source:
                source.open()
                while not source.exhausted:
                    if (batch := source.next_batch(1000, 0.1)) is not None:
                        batch.records.to_pylist()
        except StreamMaxlossError:
            return 50
    return 50


KINDS: list[tuple[str, Callable[[str, random.Random], int]]] = [
    *((kind, fuzz_text) for kind in ("csv", "tsv", "jsonl", "svmlight")),
    *((kind, fuzz_payloads) for kind in ("json", "csv", "arrow", "avro", "avro in a registry's frame")),
    *((kind, fuzz_files) for kind in ("parquet", "arrow", "arrows")),
]


def require(promise: bool, message: str) -> None:
    if not promise:
        raise AssertionError(message)


def main() -> None:
    wanted, seed = int(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")
    records, slowest, failures = 0, 0.0, []
    number = 0
    while records < wanted and len(failures) < 5:
        kind, fuzz = KINDS[number % len(KINDS)]
        case = f"{fuzz.__name__} {kind} {seed}:{number}"
        # Known if the process dies: the last line of stderr.
        sys.stderr.write(case + "\n")
        sys.stderr.flush()
        began = time.process_time()
        try:
            records += fuzz(kind, random.Random(f"{seed}:{number}"))
        except Exception as error:
            failures.append(f"{case}: {type(error).__name__}: {str(error)[:200]}")
        taken = time.process_time() - began
        slowest = max(slowest, taken)
        if taken > SLOWEST and number > len(KINDS):
            failures.append(f"{case}: took {taken:.1f} s")
        number += 1
    sys.stdout.write(json.dumps({"records": records, "slowest": round(slowest, 3), "failures": failures}) + "\n")


if __name__ == "__main__":
    main()
