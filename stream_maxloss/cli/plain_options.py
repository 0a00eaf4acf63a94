"""Commands whose options are handed on as they are where there is nothing to convert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["PlainCommand", "PlainGroup"]


class PlainCommand(TyperCommand):
    """Typer's command, which converts a value only if it is not yet what the option wants.

    Newer versions of Typer convert every value, defaults too, by a library for data models, and loading that takes
    longer than all else they do. Text that is wanted as text and what was not given need no conversion.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words on the command line."""
        shorten_all(self.get_params(ctx))
        return super().parse_args(ctx, args)


class PlainGroup(TyperGroup):
    """Typer's group of commands, likewise."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words on the command line."""
        shorten_all(self.get_params(ctx))
        return super().parse_args(ctx, args)


def shorten_all(parameters: Sequence[Any]) -> None:
    """Give options the short cut, where Typer converts as its newer versions do."""
    for parameter in parameters:
        is_done = "process_value" in vars(parameter)
        if hasattr(parameter, "type_descriptor") and not parameter.required and not is_done:
            parameter.process_value = shorten(parameter)


def shorten(parameter: Any) -> Callable[[Any, Any], Any]:
    """Return what converts the values of an option, with a short cut for those that are as they should be."""
    convert = parameter.process_value

    def process_value(context: Any, value: Any) -> Any:
        if not is_plain(parameter, context, value):
            return convert(context, value)
        if parameter.nargs == -1 or getattr(parameter, "multiple", False):
            value = () if value is None else list(value)
        return value if parameter.callback is None else parameter.callback(context, parameter, value)

    return process_value


def is_plain(parameter: Any, context: Any, value: Any) -> bool:
    """Tell whether a value is absent, text that is wanted as text, or the default that the command declares."""
    wanted = parameter.type_descriptor.annotation
    if value is None:
        return True
    if wanted is str:
        return isinstance(value, str)
    if wanted == list[str]:
        return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
    # What a file of options gives has to be looked at: it may be a number out of range.
    return (
        isinstance(wanted, type)
        and type(value) is wanted
        and value == parameter.default
        and is_default(context, parameter)
    )


def is_default(context: Any, parameter: Any) -> bool:
    """Tell whether a value was not given anywhere."""
    return context.get_parameter_source(parameter.name).name == "DEFAULT"
