"""Damage to text and bytes, of the kinds that transport, editors, versions and enemies do."""

from __future__ import annotations

import random

__all__ = ["damage", "damage_lines"]

_INSERTED = [
    *(b"\0", b"\r", b"\n", b'"', b"'", b",", b"\t", b"\\", b"{", b"}", b"[", b"]", b":", b"#", b"\xef\xbb\xbf"),
    *(
        b"\xff\xfe",
        b"\xc3",
        b"\xed\xa0\x80",
        b"NaN",
        b"Infinity",
        b"-inf",
        b"1e999",
        b"1e-999",
        b"null",
        b"true",
        b"9" * 400,
    ),
    *(b"[" * 5000, b'{"a":' * 3000, b'"' * 99, b"a" * 70_000, b"\\ud800", b"\\u0000", b"1:1 " * 300, b"-0", b"0x1p3"),
]


def damage(data: bytes, generator: random.Random) -> bytes:
    """Return bytes with one to three changes."""
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        data = _CHANGES[generator.randrange(len(_CHANGES))](data, generator)
    return data


def damage_lines(lines: list[bytes], generator: random.Random, share: float) -> list[bytes]:
    """Return lines of which some are damaged; one may become several, or none."""
    return [damage(line, generator) if generator.random() < share else line for line in lines]


def _flip(data: bytes, generator: random.Random) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    return bytes(changed)


def _insert(data: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(data) + 1)
    return data[:place] + generator.choice(_INSERTED) + data[place:]


def _cut(data: bytes, generator: random.Random) -> bytes:
    first = generator.randrange(len(data) + 1)
    return data[:first] + data[first + generator.randrange(1, 20) :]


def _repeat(data: bytes, generator: random.Random) -> bytes:
    first = generator.randrange(len(data) + 1)
    piece = data[first : first + generator.randrange(1, 20)]
    return data[:first] + piece * generator.choice((2, 3, 50)) + data[first + len(piece) :]


def _swap(data: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(data) + 1)
    return data[place:] + data[:place]


_CHANGES = (_flip, _insert, _cut, _repeat, _swap)
