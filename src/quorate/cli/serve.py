"""`quorate serve`: the live service, where cases arrive and experts vote."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.errors import MissingExtraError

if TYPE_CHECKING:
    from types import FrameType

    from quorate.service.hall import Hall

DATABASE = "sqlite:///quorate.db"
IDLE = 75
"""Seconds that a connection is kept for somebody who is thinking: a vote should not find it closed."""


def serve(
    db: Annotated[
        str, typer.Option(metavar="URL", help="Where studies are kept: sqlite:///FILE or postgresql+psycopg://...")
    ] = DATABASE,
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The service as browsers see it, if not http://HOST:PORT.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The key of tokens; beside the database if not given.")
    ] = None,
    image_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="An origin that images of cases may come from; repeatable.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Learn on a Dask cluster, such as tcp://host:8786.")
    ] = None,
    simulate_experts: Annotated[
        bool, typer.Option("--simulate-experts", help="Add a demo study whose experts vote by themselves.")
    ] = False,
) -> None:
    """Serve studies: people vote in their browsers, programs by the API."""
    try:
        import uvicorn  # noqa: F401  # is the extra there at all
    except ImportError:
        raise MissingExtraError("the service", "service") from None
    with _executor(cluster) as make_executor:
        _run(
            db,
            host,
            port,
            base_url=base_url,
            key_file=key_file,
            image_origins=image_origin or [],
            make_executor=make_executor,
            demo=simulate_experts,
        )


@contextmanager
def _executor(cluster: str | None) -> Iterator[object]:
    """How to make the executor that learns: local processes, or a cluster."""
    from quorate.service.worker import local_pool

    if cluster is None:
        yield local_pool
        return
    from quorate.cluster import LastingCluster

    with closing(LastingCluster(cluster)) as found:
        yield found.executor


def _run(
    db: str,
    host: str,
    port: int,
    *,
    base_url: str | None,
    key_file: Path | None,
    image_origins: list[str],
    make_executor: object,
    demo: bool,
) -> None:
    import socket

    import uvicorn

    from quorate.errors import InputError
    from quorate.models.parts import work_alone
    from quorate.service.app import create_app, open_hall
    from quorate.service.logs import configure

    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port} ({error.strerror}); give another --host or --port") from None
    shown = f"[{host}]" if ":" in host else host
    address = base_url or f"http://{shown}:{listener.getsockname()[1]}"
    configure()
    work_alone()  # every request has a thread of its own; learning has a process
    hall = open_hall(db, base_url=address, key_file=key_file, make_executor=make_executor)  # type: ignore[arg-type]
    app = create_app(hall, image_origins=image_origins, demo=demo)

    class Server(uvicorn.Server):
        """Says where it is once it answers there; ends its streams as soon as it is told to stop, so nothing waits."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                _say(hall, address)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            hall.hub.close()
            super().handle_exit(sig, frame)

    settings = uvicorn.Config(
        app,
        loop="uvloop",  # with httptools, a quarter more votes a second
        http="httptools",
        lifespan="on",  # a service that cannot start says so and ends
        log_config=None,
        access_log=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=10,
        server_header=False,
        proxy_headers=False,
    )
    Server(settings).run(sockets=[listener])


def _say(hall: Hall, address: str) -> None:
    """Where to go, and on the first start, how to get in."""
    from quorate.service.tokens import first_link, link_address

    found = first_link(hall.access.tokens)
    sys.stdout.write(f"quorate is at {address}\n")
    if found is not None:
        issued, user = found
        link = link_address(address, issued.secret)
        sys.stdout.write(f"No admin has a password yet. This link works once, for {user.name!r}:\n  {link}\n")
    sys.stdout.write(f"Stop it with Ctrl-C (process {os.getpid()}).\n")
    sys.stdout.flush()
