"""What the command line says about columns that are no plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.options.columns import split_names
from stream_maxloss.cli.options.group import grouped
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.intake import Intake

__all__ = ["IntakeOptions", "csv_types", "intake_options"]


@dataclass(frozen=True)
class IntakeOptions:
    """What the options say about dates, text and types."""

    dates: Sequence[str] = ()
    text: Sequence[str] = ()
    schema: Sequence[str] = ()

    def make(self) -> Intake:
        """Return what turns columns into features.

        Raises
        ------
        UsageError
            If a column is to be two things, or a type is none.

        """
        from stream_maxloss.intake import Intake, parse_schema

        dates, text = names_or_none("--dates", self.dates), names_or_none("--text", self.text)
        twice = sorted(set(dates or ()) & set(text or ()))
        if twice:
            raise UsageError(f"a column must be a date or text, got {twice[0]!r} as both; drop one")
        wishes: dict[str, Any] = {}
        for part in self.schema:
            wishes |= parse_schema(part)
        return Intake(dates, text, wishes)


def csv_types(intake: Intake) -> dict[str, Any]:
    """Return the Arrow types in which columns of CSV have to be read to become what the user says."""
    import pyarrow as pa

    kinds = {"number": pa.float64(), "flag": pa.bool_()}
    return {
        name: kinds.get(kind, pa.string()) for name, (kind, _) in intake.wishes.items() if kind not in ("raw", "none")
    }


def names_or_none(option: str, texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that an option names; empty for `none`, None where it is not given."""
    names = split_names(texts)
    if not texts:
        return None
    if "none" in names:
        if len(names) > 1:
            raise UsageError(f"{option} must be columns or none, got {','.join(names)}; choose one")
        return ()
    return tuple(names)


intake_options = grouped(
    "intake",
    IntakeOptions,
    click.option(
        "--dates",
        metavar="NAMES|none",
        multiple=True,
        help="Date columns, comma-separated, or none. Default: detected.",
    ),
    click.option(
        "--text",
        metavar="NAMES|none",
        multiple=True,
        help="Free-text columns, learned word by word, or none. Default: long, mostly distinct texts.",
    ),
    click.option(
        "--schema",
        metavar="NAME:TYPE,...|FILE",
        multiple=True,
        help="Column types: number, category, text, date[:FORMAT], flag, raw (as is) or none.",
    ),
)
