"""Where a command listens, and who is let in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stream_maxloss.cli.options.group import grouped

if TYPE_CHECKING:
    from stream_maxloss.serve.server import Transport

__all__ = ["ListenOptions", "listen_options", "transport_at"]


@dataclass(frozen=True)
class ListenOptions:
    """What the options say about who may connect."""

    listen: str
    token_file: Path | None
    tls_certificate: Path | None
    tls_key: Path | None
    tls_client_ca: Path | None

    def transport(self) -> Transport:
        """Return where to listen and whom to let in.

        Raises
        ------
        UsageError
            If everybody could connect from other machines.

        """
        from stream_maxloss.serve.address import Address
        from stream_maxloss.serve.server import Transport
        from stream_maxloss.serve.tokens import Tokens

        tokens = Tokens() if self.token_file is None else Tokens.from_file(self.token_file)
        found = Transport(Address.parse(self.listen), tokens, self.tls_certificate, self.tls_key, self.tls_client_ca)
        found.require_safe()
        return found


def transport_at(port: str) -> Transport:
    """Return where the page of a run is shown: a port of this machine, or an address of it."""
    listen = f"127.0.0.1:{port}" if port.isdecimal() else port
    return ListenOptions(listen, None, None, None, None).transport()


FILE = click.Path(path_type=Path)
listen_options = grouped(
    "listening",
    ListenOptions,
    click.option(
        "--listen",
        metavar="HOST:PORT|unix:PATH",
        default="127.0.0.1:8080",
        help="Address to listen on; beyond this machine only with a token file or client certificates.",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=FILE,
        help="Lines of `read SECRET` and `learn SECRET`; clients send one as a bearer token, browsers as a password.",
    ),
    click.option("--tls-certificate", metavar="FILE", type=FILE, help="The server's certificate, for HTTPS."),
    click.option("--tls-key", metavar="FILE", type=FILE, help="The certificate's private key."),
    click.option(
        "--tls-client-ca", metavar="FILE", type=FILE, help="Accept only clients with a certificate from this authority."
    ),
)
