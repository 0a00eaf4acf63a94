"""What is done when an alert is raised: a line, an end, a command, a request to a server on this machine."""

from __future__ import annotations

import ipaddress
import json
import shlex
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.cli.reports.messages import Messages
    from stream_maxloss.run.alerts import Alert

__all__ = ["AlertActions"]

SECONDS = 10.0
"""How long a command or a server may take; the run waits for it."""


class AlertActions:
    """Carries out `--on-alert`; that an alert was raised is said in any case.

    Parameters
    ----------
    texts
        `exit`, `run=COMMAND` or `post=URL` each.
    messages
        Prints lines.

    Raises
    ------
    UsageError
        If a text is none of these, or the address is not on this machine.

    """

    def __init__(self, texts: Sequence[str], messages: Messages) -> None:
        self.messages = messages
        self.ends = False
        self.raised = False
        self._commands: list[list[str]] = []
        self._addresses: list[str] = []
        for text in texts:
            kind, _, what = text.partition("=")
            if text == "exit":
                self.ends = True
            elif kind == "run" and what.strip():
                self._commands.append(split(what))
            elif kind == "post":
                self._addresses.append(require_loopback(what))
            else:
                raise UsageError(
                    f"--on-alert must be exit, run=COMMAND or post=http://127.0.0.1:PORT/..., got {text!r}"
                )

    def __call__(self, alert: Alert) -> None:
        """Act on an alert."""
        self.messages.warn(alert.line)
        self.raised = self.raised or not alert.is_over
        body = json.dumps(
            {
                "alert": alert.condition.text,
                "value": None if alert.value is None or alert.value != alert.value else alert.value,
                "rows": alert.rows,
                "since": alert.since,
                "over": alert.is_over,
            }
        ).encode()
        for command in self._commands:
            self._run(command, body)
        for address in self._addresses:
            self._post(address, body)

    def _run(self, command: list[str], body: bytes) -> None:
        try:
            done = subprocess.run(command, input=body, timeout=SECONDS, check=False, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired) as error:
            self.messages.warn(f"warning: the command of --on-alert failed: {error}")
            return
        if done.returncode:
            self.messages.warn(f"warning: the command of --on-alert ended with exit code {done.returncode}")

    def _post(self, address: str, body: bytes) -> None:
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"}, method="POST")
        # No proxy: what goes to this machine stays on it.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects())
        try:
            opener.open(request, timeout=SECONDS).close()
        except OSError as error:
            self.messages.warn(f"warning: {address} did not take the alert: {error}")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses to be sent elsewhere, which could be another machine."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""
        return


def split(text: str) -> list[str]:
    """Return the arguments of a command."""
    if "\0" in text:
        raise UsageError(f"--on-alert run= must be a command, got {text!r}: no program takes a zero byte")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on-alert run= must be a command, got {text!r}: {error}") from error


def require_loopback(address: str) -> str:
    """Return an address if it is on this machine."""
    try:
        parts = urllib.parse.urlsplit(address)
        host, port = parts.hostname or "", parts.port
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
        is_local = is_local and parts.scheme == "http" and port != 0 and address.isprintable()
    except ValueError:  # no address, or a port that there is not
        is_local = False
    if not is_local:
        raise UsageError(
            f"--on-alert post= must be http:// on this machine (127.0.0.1, ::1, localhost), got {address!r}; let a "
            "server here pass it on, or use run=COMMAND"
        )
    return address
