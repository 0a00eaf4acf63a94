"""What a decoder of messages promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["Decoded", "Decoder"]


@dataclass(frozen=True)
class Decoded:
    """Messages as rows.

    Parameters
    ----------
    records
        The rows of the good messages, in order; None while no message has told the columns.
    messages
        How many of the given messages were looked at, from the front.
    bad
        Index of a bad message -> what is wrong with it. A bad message yields no row.
    counts
        Rows of each message that was looked at; None where every good message is one row.

    """

    records: pa.RecordBatch | None
    messages: int
    bad: Mapping[int, str] = field(default_factory=dict)
    counts: Sequence[int] | None = None


class Decoder(ABC):
    """Turns payloads into rows of one schema.

    What an implementer gets wrong: a message must never decide about another one. Whatever stands in it, a payload
    gives its own rows or its own entry in `bad`, and the same ones however the messages are cut into calls.

    Parameters
    ----------
    schema
        The columns; None to take them from the first messages.

    """

    def __init__(self, schema: pa.Schema | None = None) -> None:
        self.schema = schema

    @abstractmethod
    def infer(self, payloads: Sequence[bytes]) -> None:
        """Fix the schema from some messages, if it is not fixed; bad ones among them are passed over."""

    @abstractmethod
    def decode(self, payloads: Sequence[bytes], max_rows: int) -> Decoded:
        """Decode messages from the front until `max_rows` rows are there or the messages are used up."""
