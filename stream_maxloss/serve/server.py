"""uvicorn, set up for a service or for the page alone."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.errors import MissingExtraError, UsageError
from stream_maxloss.serve.address import Address
from stream_maxloss.serve.bulletin import Bulletin
from stream_maxloss.serve.limits import Limits
from stream_maxloss.serve.tokens import Tokens

if TYPE_CHECKING:
    import uvicorn

    from stream_maxloss.serve.service import Service

__all__ = ["Transport", "require_extra", "serve", "watched"]


@dataclass(frozen=True)
class Transport:
    """Where a service listens, and who is let in.

    Parameters
    ----------
    address
        Where.
    tokens
        Who may do what.
    certificate, key
        Files for TLS, or None.
    client_authority
        The authority whose certificates clients must have, or None.

    """

    address: Address
    tokens: Tokens
    certificate: Path | None = None
    key: Path | None = None
    client_authority: Path | None = None

    def require_safe(self) -> None:
        """Refuse to be reached from other machines by everybody."""
        if (self.certificate is None) != (self.key is None):
            raise UsageError("--tls-certificate and --tls-key must come together")
        if self.client_authority is not None and self.certificate is None:
            raise UsageError("--tls-client-ca must come with --tls-certificate and --tls-key")
        if not self.address.is_local and not self.tokens and self.client_authority is None:
            raise UsageError(
                f"--listen must be on this machine without a token, got {self.address}; add --token-file FILE, "
                "or --tls-client-ca FILE for clients with certificates"
            )

    @property
    def hosts(self) -> frozenset[str] | None:
        """What clients may call it: on this machine and without tokens only what always means this machine."""
        if self.tokens or self.client_authority is not None or self.address.path is not None:
            return None
        return frozenset({"localhost", "127.0.0.1", "::1", self.address.host})

    def settings(self) -> dict[str, Any]:
        """Return uvicorn's settings for TLS."""
        if self.certificate is None:
            return {}
        found: dict[str, Any] = {"ssl_certfile": str(self.certificate), "ssl_keyfile": str(self.key)}
        if self.client_authority is not None:
            found |= {"ssl_ca_certs": str(self.client_authority), "ssl_cert_reqs": ssl.CERT_REQUIRED}
        return found


def require_extra() -> None:
    """Raise an error that says how to install what is missing."""
    try:
        import httptools  # noqa: F401
        import msgspec  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("serving", "serve") from error


def make_server(application: Any, limits: Limits, **settings: Any) -> uvicorn.Server:
    """Return uvicorn for an application."""
    import uvicorn

    from stream_maxloss.serve.http.connection import TimedConnection

    config = uvicorn.Config(
        application,
        http=TimedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        **settings,
    )
    return uvicorn.Server(config)


async def run_server(server: uvicorn.Server, socket: Any, seconds: float) -> None:
    """Serve until told to stop, and hang up on those whose requests do not come in time."""
    from stream_maxloss.serve.http.connection import close_late

    async def look() -> None:
        while True:
            await asyncio.sleep(min(1.0, seconds / 4))
            close_late(server.server_state.connections, asyncio.get_running_loop().time(), seconds)

    looking = asyncio.create_task(look())
    try:
        await server.serve(sockets=[socket])
    finally:
        looking.cancel()


async def serve(service: Service, transport: Transport, say: Callable[[str], None]) -> None:
    """Serve until a signal, or until learning fails.

    Parameters
    ----------
    service
        What to serve.
    transport
        Where, and for whom.
    say
        Told where it listens.

    """
    from stream_maxloss.serve.http.answers import row_routes
    from stream_maxloss.serve.http.application import Application
    from stream_maxloss.serve.http.inference import inference_routes
    from stream_maxloss.serve.http.looks import look_routes
    from stream_maxloss.serve.http.page import page_routes

    transport.require_safe()
    with contextlib.closing(transport.address.bind()) as socket:
        async with service.running():
            stopping = Flag()
            routes = [*row_routes(service), *inference_routes(service), *look_routes(service)]
            routes += page_routes(service.bulletin, stopping)
            observe, hosts = service.meters.answered, transport.hosts
            application = Application(routes, transport.tokens, service.limits, observe, hosts)
            service.application = application
            server = make_server(application, service.limits, **transport.settings())
            stopping.ask = lambda: bool(server.should_exit)
            service.on_end = lambda: setattr(server, "should_exit", True)
            say(f"listening on {shown(transport, socket)}")
            await run_server(server, socket, service.limits.seconds)
    if transport.address.path is not None:
        transport.address.path.unlink(missing_ok=True)


class Flag:
    """A question whose answer is found later."""

    def __init__(self) -> None:
        self.ask: Callable[[], bool] = lambda: False

    def __call__(self) -> bool:
        return self.ask()


def shown(transport: Transport, socket: Any) -> str:
    """Return the address as a user opens it; a free port has its number by now."""
    address = transport.address
    if address.path is None:
        address = replace(address, port=socket.getsockname()[1])
    text = str(address)
    return text if transport.certificate is None else text.replace("http://", "https://", 1)


@contextlib.contextmanager
def watched(bulletin: Bulletin, transport: Transport, say: Callable[[str], None]) -> Iterator[None]:
    """Show the page alone, from a thread beside a run.

    Parameters
    ----------
    bulletin
        What the page shows.
    transport
        Where, and for whom.
    say
        Told where it listens.

    """
    from stream_maxloss.serve.http.application import Application
    from stream_maxloss.serve.http.page import page_routes

    transport.require_safe()
    stopping = Flag()
    application = Application(page_routes(bulletin, stopping), transport.tokens, hosts=transport.hosts)
    server = make_server(application, application.limits, **transport.settings())
    stopping.ask = lambda: bool(server.should_exit)
    seconds = application.limits.seconds
    with contextlib.closing(transport.address.bind()) as socket:
        say(f"watch it on {shown(transport, socket)}")
        thread = threading.Thread(target=lambda: asyncio.run(run_server(server, socket, seconds)), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(timeout=15)
