"""A real PostgreSQL server of the tests' own, on this machine alone; its databases are made and dropped at will."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg

MISSING = (
    "no PostgreSQL server was found in $PG_BIN or /usr/lib/postgresql/*/bin; "
    "install Debian's package: apt-get install postgresql"
)


def programs() -> Path:
    """The folder of initdb and pg_ctl: that of the newest server."""
    named = os.environ.get("PG_BIN")
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    ordered = sorted(versions, key=lambda path: float(path.parent.name), reverse=True)
    for folder in [Path(named)] if named else ordered:
        if (folder / "initdb").exists():
            return folder
    raise FileNotFoundError(MISSING)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass(frozen=True)
class Server:
    """A server that is told to start and to stop; `url` is that of a database by name."""

    folder: Path
    port: int
    fsync: bool = True

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        options += f" -c fsync={'on' if self.fsync else 'off'} -c max_connections=100"
        self._control("-l", self.folder / "log", "-o", options, "start")

    def stop(self) -> None:
        """Stop it at once, as a power failure would: it recovers what was committed when it starts again."""
        self._control("-m", "immediate", "stop")

    @contextmanager
    def down(self) -> Iterator[None]:
        """It is stopped, and started again on leaving."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def _control(self, *words: str | Path) -> None:
        _run([programs() / "pg_ctl", "-D", self.folder / "data", "-w", *words], _other_user())

    def url(self, name: str = "postgres") -> str:
        """How quorate opens one of its databases."""
        return f"postgresql+psycopg://quorate@127.0.0.1:{self.port}/{name}"

    def _told(self, command: str) -> None:
        with psycopg.connect(self.url().replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(command.encode())

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database, dropped on leaving."""
        name = f"t{uuid4().hex[:12]}"
        self._told(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self._told(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def serving(*, fsync: bool = True) -> Iterator[Server]:
    """A server in a folder of its own; with `fsync`, what it has committed survives a kill."""
    bin_ = programs()
    folder = Path(tempfile.mkdtemp(prefix="quorate-pg-"))
    owner = _other_user()
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    server = Server(folder, free_port(), fsync)
    try:
        data = folder / "data"
        _run([bin_ / "initdb", "-D", data, "-U", "quorate", "-A", "trust", "-E", "UTF8", "--no-sync"], owner)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user() -> pwd.struct_passwd | None:
    """Whom to run the server as: PostgreSQL refuses root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _run(command: Sequence[str | Path], owner: pwd.struct_passwd | None) -> None:
    words = [str(word) for word in command]
    # The server keeps what it is given open, so its output goes to its log and not to a pipe that would never end.
    with tempfile.TemporaryFile() as out:
        if owner is None:
            done = subprocess.run(words, cwd="/", stdout=out, stderr=out, check=False)
        else:
            user, group = owner.pw_uid, owner.pw_gid
            done = subprocess.run(
                words, cwd="/", stdout=out, stderr=out, check=False, user=user, group=group, extra_groups=[]
            )
        if done.returncode:
            out.seek(0)
            raise RuntimeError(f"{words[0]} failed: {out.read().decode(errors='replace')}")
