"""The errors a caller of the library may want to catch.

Wrong arguments raise `ValueError` or `TypeError`. The classes here are for what goes wrong with data,
files, brokers and checkpoints: each message is one line that names the address, the value and the remedy.
"""

from __future__ import annotations

__all__ = [
    "CheckpointError",
    "DecodeError",
    "GapError",
    "MissingExtraError",
    "ModelError",
    "RowError",
    "SourceError",
    "StreamMaxlossError",
    "TooManyBadRecordsError",
    "UsageError",
]


class StreamMaxlossError(Exception):
    """Base of every error of this project that is not a plain `ValueError` or `TypeError`."""


class UsageError(StreamMaxlossError, ValueError):
    """The request cannot be carried out: an option, a setting, a column that is not there."""


class SourceError(StreamMaxlossError):
    """A source cannot be opened or read: no such file, unreachable broker, unknown topic or scheme."""


class GapError(SourceError):
    """Rows between the saved position and what the source still holds are gone."""


class DecodeError(StreamMaxlossError):
    """One record cannot be read as a row.

    Parameters
    ----------
    address
        Where the record stands, as a user would look it up: `day.csv:1882` or `orders[3]@1882`.
    reason
        What is wrong with it, with the offending value.
    raw
        The bytes of the record as they came.

    """

    def __init__(self, address: str, reason: str, raw: bytes = b"") -> None:
        super().__init__(f"{address}: {reason}")
        self.address = address
        self.reason = reason
        self.raw = raw


class RowError(StreamMaxlossError, ValueError):
    """One row of a batch is refused; the model that was to learn it is as it was.

    Parameters
    ----------
    row
        Which one, counted from 0 within the batch.
    reason
        What is wrong, with the offending value; also the text of the error.

    Examples
    --------
    >>> from stream_maxloss.errors import RowError
    >>> from stream_maxloss.linear import Perceptron
    >>> import pyarrow as pa
    >>> try:
    ...     Perceptron().learn_many(pa.table({"size": [1.0, float("inf")]}), [True, False])
    ... except RowError as error:
    ...     print(error.row, error.reason)
    1 feature 'size' of row 1 must be finite, got inf; clip it or leave it out

    """

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason

    def __reduce__(self) -> tuple[type[RowError], tuple[int, str]]:
        return RowError, (self.row, self.reason)


class ModelError(StreamMaxlossError, ValueError):
    """A model can learn or predict no further: it has diverged, or one that is not ours has raised an error."""


class TooManyBadRecordsError(StreamMaxlossError):
    """More records were bad than the limit allows."""


class CheckpointError(StreamMaxlossError):
    """A checkpoint cannot be written, found, verified or loaded."""


class MissingExtraError(StreamMaxlossError, ImportError):
    """An optional dependency is not installed; the message carries the pip command.

    Parameters
    ----------
    feature
        What the user wanted to do.
    extra
        The extra of this distribution that brings it.

    Examples
    --------
    >>> from stream_maxloss.errors import MissingExtraError
    >>> raise MissingExtraError("reading from Kafka", "kafka")
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.MissingExtraError: reading from Kafka needs the 'kafka' extra; run: ...

    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the '{extra}' extra; run: pip install 'stream-maxloss[{extra}]'")
        self.extra = extra
