"""The options of a run, kept in its checkpoints, so that going on needs none of them."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shlex
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from stream_maxloss.cli.options.group import Command
from stream_maxloss.errors import CheckpointError, StreamMaxlossError, UsageError

if TYPE_CHECKING:
    from stream_maxloss.checkpoint import Content

__all__ = ["MODEL", "ResumableCommand", "command_of", "is_as_before", "kept_command", "saved_content"]

KEY_BYTES = 32
REACHES_OUT = ("sources", "labels", "predictions", "extra", "kafka_config", "actions", "allow_pickle", "watch", "ray")
"""Options by which a run reads, writes, listens, talks to servers or runs code."""

NOT_KEPT = ("checkpoint", "resume", "dry_run", "quiet", "verbose", "limit", "predictions")
"""Options of one call, not of the run; where predictions go is kept with them."""

MODEL = ("settings", "focus", "window", "replays", "slack", "share", "scale", "certify", "seed")
"""Options that belong to the model that is named."""


class ResumableCommand(Command):
    """A command that takes options which are left out from the checkpoint that it goes on from."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, then fill in what was left out."""
        rest = super().parse_args(ctx, args)
        directory = ctx.params.get("checkpoint")
        if directory is not None and ctx.params.get("resume") and not ctx.resilient_parsing:
            content = saved_content(directory)
            run = None if content is None else content.values.get("run")
            ctx.meta["run"] = run if isinstance(run, dict) else None
            if content is not None and "command" in content.values:
                fill_in(ctx, command_of(content), content.values.get("predictions"))
        return rest


def saved_content(directory: Path) -> Content | None:
    """Return the newest whole checkpoint of a directory; None where there is none, which the run itself will say."""
    from stream_maxloss.checkpoint import CheckpointStore
    from stream_maxloss.scale.shards.layout import shard_directories

    with contextlib.suppress(StreamMaxlossError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself will say what is damaged
        # Of a job any shard knows the options.
        for place in (directory, *shard_directories(directory)):
            store = CheckpointStore(place)
            if store.list():
                return store.load(allow_pickle=True)
    return None


def kept_command(ctx: click.Context) -> dict[str, Any]:
    """Return what to keep of a call: its options, where it was made, and which secrets were left out."""
    options: dict[str, Any] = {}
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if name in ctx.params and name not in NOT_KEPT and is_given(ctx, name):
            options[name] = plain(ctx.params[name])
    secrets = [text.partition("=")[0] for text in options.get("extra", ()) if is_secret(text)]
    if "extra" in options:
        options["extra"] = [text for text in options["extra"] if not is_secret(text)]
    command: dict[str, Any] = {"options": options, "folder": str(Path.cwd()), "secrets": secrets}
    # Without a checkpoint nothing is kept, and no key is needed.
    seal = None if ctx.params.get("checkpoint") is None else make_seal(command, ctx.params.get("predictions") or "")
    return command if seal is None else {**command, "seal": seal}


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether an option was given, now or when the run began."""
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def is_as_before(option: str) -> bool:
    """Return whether an option was left out, and has the value that the checkpoint keeps."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT_MAP


def is_secret(text: str) -> bool:
    """Return whether a setting of `-X` must not be written down."""
    from stream_maxloss_connectors.kafka.settings import mask_settings

    name = text.partition("=")[0]
    return bool(mask_settings({name: ""})[name])


def plain(value: Any) -> Any:
    """Return the value of an option as JSON keeps it."""
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return os.fspath(value) if isinstance(value, Path) else value


def command_of(content: Content) -> dict[str, Any]:
    """Return the options that a checkpoint holds; it may say anything.

    Raises
    ------
    CheckpointError
        If it holds none.

    """
    kept = content.values.get("command")
    found: dict[str, Any] = kept if isinstance(kept, dict) else {}
    options, secrets = found.get("options"), found.get("secrets", [])
    if not isinstance(options, dict) or not all(isinstance(name, str) for name in secrets):
        raise CheckpointError(
            "a checkpoint must hold the options of its run to be resumed by itself, got none; name them once more: "
            "maxloss tail SOURCE --target COLUMN ... --checkpoint DIR"
        )
    kept_words = {"options": options, "folder": found.get("folder"), "secrets": list(secrets)}
    return {**kept_words, "own": is_own(found, content.values.get("predictions"))}


def fill_in(ctx: click.Context, command: dict[str, Any], predictions: Any) -> None:
    """Fill in options that were left out with the values that they had.

    Raises
    ------
    CheckpointError
        If one of them could do harm, and the checkpoint is not this user's.

    """
    kept = command["options"]
    if isinstance(predictions, dict) and isinstance(predictions.get("uri"), str) and predictions["uri"]:
        kept = {**kept, "predictions": predictions["uri"]}
    if not command["own"]:
        harmful = harmful_options(kept)
        require_given(ctx, harmful)
        kept = {name: value for name, value in kept.items() if name not in harmful}
    # Of another model than the run's the settings are not wanted; the run itself says that it is another.
    other = is_given(ctx, "name") and ctx.params["name"] != kept.get("name", ctx.params["name"])
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if name not in kept or (other and name in MODEL):
            continue
        if name == "extra":
            ctx.params[name] = (*cast(ctx, parameter, kept[name]), *ctx.params[name])
        elif not is_given(ctx, name):
            ctx.params[name] = cast(ctx, parameter, kept[name])
        else:
            continue
        ctx.set_parameter_source(name, ParameterSource.DEFAULT_MAP)
    known = {text.partition("=")[0] for text in ctx.params["extra"]}
    for name in command["secrets"]:
        if name not in known:
            raise UsageError(f"-X {name}=... must be given again: secrets are not kept in checkpoints")


def require_given(ctx: click.Context, harmful: dict[str, Any]) -> None:
    """Raise CheckpointError unless the user has given all of these options in this call."""
    left_out = {
        parameter: harmful[str(parameter.name)]
        for parameter in ctx.command.params
        if parameter.name in harmful and not is_given(ctx, str(parameter.name))
    }
    if left_out:
        words = [spelled(str(part.metavar) if part.nargs == -1 else part.opts[0], left_out[part]) for part in left_out]
        raise CheckpointError(
            f"{ctx.params['checkpoint']} must be sealed by this user to be resumed by itself, got options of somebody "
            f"else, or of before a move; if they are right, give them to maxloss tail: {' '.join(words)}"
        )


def cast(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the value of an option as click would have read it."""
    try:
        found = parameter.type_cast_value(ctx, value)
    except (click.BadParameter, TypeError, ValueError) as error:
        raise CheckpointError(
            f"the checkpoint's option {parameter.opts[0]} must be one, got {value!r}; use another checkpoint"
        ) from error
    return tuple(found) if parameter.multiple or parameter.nargs == -1 else found


def make_seal(command: Mapping[str, Any], predictions: str) -> str | None:
    """Return the seal of a run's options; None where this user cannot keep a key.

    Parameters
    ----------
    command
        The options, where the command was called, and which secrets it had.
    predictions
        Where predictions go; empty for nowhere.

    """
    key = own_key(create=True)
    return None if key is None else digest(key, command, predictions)


def is_own(command: Mapping[str, Any], predictions: Any) -> bool:
    """Return whether this user has sealed the options of a checkpoint, as they are."""
    key, seal = own_key(create=False), command.get("seal")
    if key is None or not isinstance(seal, str):
        return False
    uri = predictions.get("uri") if isinstance(predictions, Mapping) else ""
    return hmac.compare_digest(seal.encode(), digest(key, command, uri if isinstance(uri, str) else "").encode())


def digest(key: bytes, command: Mapping[str, Any], predictions: str) -> str:
    """Return the keyed digest of a run's options."""
    sealed = [command.get("options"), command.get("folder"), command.get("secrets"), predictions]
    return hmac.new(key, json.dumps(sealed, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def harmful_options(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some options that could do harm if somebody else had chosen them.

    Examples
    --------
    >>> from stream_maxloss.cli.options.saved import harmful_options
    >>> harmful_options({"target": "y", "name": "theirs:make", "on_bad": "skip", "actions": ["run=sh theirs.sh"]})
    {'actions': ['run=sh theirs.sh'], 'name': 'theirs:make'}

    """
    found = {name: kept[name] for name in REACHES_OUT if kept.get(name)}
    if ":" in str(kept.get("name", "")):  # a module, which importing runs
        found["name"] = kept["name"]
    if str(kept.get("on_bad", "")).startswith("dlq="):
        found["on_bad"] = kept["on_bad"]
    return found


def spelled(option: str, value: Any) -> str:
    """Return an option as it would be typed, without what could play tricks on a terminal."""
    values = value if isinstance(value, list | tuple) else [value]
    name = [] if option in ("SOURCE...", "SOURCE") else [option]
    words = name if value is True else [word for part in values for word in (*name, str(part))]
    text = shlex.join(words)
    return text if text.isprintable() else ascii(text)


def own_key(create: bool) -> bytes | None:
    """Return this user's key, made if need be; None where there is none and none can be kept."""
    with contextlib.suppress(OSError, RuntimeError):  # the second where there is no home
        home = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
        path = home / "stream-maxloss" / "key"
        if create and not path.exists():
            write_key(path)
        found = path.read_bytes()
        return found if len(found) == KEY_BYTES else None
    return None


def write_key(path: Path) -> None:
    """Make a key that only this user can read; of two processes that do so at once, one wins."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".key-{os.getpid()}-{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
        os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.close(descriptor)
        temporary.unlink()
