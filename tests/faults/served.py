"""The service as a user starts it, in a process of its own, and programs that talk to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

from quorate.service.keyfile import read_or_make_key
from quorate.service.tokens import Tokens
from quorate.storage.accounts import Accounts
from quorate.storage.database import Database

PATIENCE = 120.0
"""Seconds after which something that should happen has not: much more than it takes on a busy machine."""

ADDRESS = re.compile(r"quorate is at (http://\S+)")


class UnreachableError(Exception):
    """No answer came: what was asked for may have happened or not."""


def eventually(what: str, look: Callable[[], bool], *, within: float = PATIENCE, every: float = 0.02) -> None:
    """Wait until something is so; after a deadline, fail with what it was."""
    deadline = time.monotonic() + within
    while not look():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:g} s: {what}")
        time.sleep(every)


@dataclass(frozen=True)
class Answer:
    """What the service said."""

    status: int
    body: Any

    @property
    def done(self) -> bool:
        """Whether it says that what was asked for has happened."""
        return 200 <= self.status < 300


class Client:
    """One program with one token and one connection, which is made anew where it broke; for one thread."""

    def __init__(self, address: str, token: str) -> None:
        self._place = urlsplit(address)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._connection: http.client.HTTPConnection | None = None

    def __call__(self, method: str, path: str, body: object = None) -> Answer:
        """Ask once; a text is decoded as JSON where it is that."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self._place.hostname or "", self._place.port, timeout=PATIENCE
            )
        content = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, content, self._headers)
            found = self._connection.getresponse()
            text = found.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise UnreachableError(f"{method} {path}: {type(error).__name__}") from None
        is_json = "json" in found.headers.get("Content-Type", "") and "ndjson" not in found.headers["Content-Type"]
        return Answer(found.status, json.loads(text) if is_json and text else text)

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def path(*parts: str) -> str:
    """An address below that of studies.

    >>> path("cxr", "cases", "a b")
    '/api/studies/cxr/cases/a%20b'
    """
    return "/".join(("/api/studies", *(quote(part, safe="") for part in parts)))


@dataclass
class Service:
    """`quorate serve` on a database; started, killed and started again at will."""

    url: str
    folder: Path  # for its key and its log
    process: subprocess.Popen[str] | None = field(default=None, init=False)
    address: str = field(default="", init=False)

    @property
    def key_file(self) -> Path:
        """The key of its tokens."""
        return self.folder / "service.key"

    @property
    def log(self) -> Path:
        """Everything it has said, of all its lives."""
        return self.folder / "service.log"

    @property
    def pid(self) -> int:
        """The process that serves."""
        assert self.process is not None
        return self.process.pid

    def issue(self, name: str, role: str, *, seats: Mapping[str, str] | None = None) -> str:
        """The API token of a new user, who votes in studies as an expert of each; beside the running service."""
        with Database.open(self.url, create=True) as db:
            accounts = Accounts(db)
            user = accounts.create_user(name, role)
            for study, expert in (seats or {}).items():
                accounts.give_seat(user.id, study, expert)
            return Tokens(accounts, read_or_make_key(self.key_file)).issue_api(user.id).secret

    def begin(self) -> None:
        """Start the process; it may not answer yet, but its address is known."""
        command = [sys.executable, "-m", "quorate.cli.main", "serve", "--db", self.url, "--port", "0"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, "--key-file", str(self.key_file)],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        for line in self.process.stdout:  # ends where the process does
            if found := ADDRESS.search(line):
                self.address = found[1]
                return
        raise AssertionError(f"the service did not start: {self.tail()}")

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.begin()
        self.await_ready()

    def await_ready(self) -> None:
        """Wait until studies are loaded."""
        eventually("the service is ready", self.ready)

    def ready(self) -> bool:
        """Whether studies are loaded and the database answers; a process that has ended is an error."""
        assert self.process is not None
        assert self.process.poll() is None, f"the service has ended: {self.tail()}"
        try:
            with Client(self.address, "") as client:
                return client("GET", "/readyz").done
        except UnreachableError:
            return False

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None

    def children(self) -> list[int]:
        """Processes that it has started and that learn for it."""
        return [pid for pid in processes_below(self.pid) if "spawn_main" in command_of(pid)]

    def client(self, token: str) -> Client:
        """A program that talks to it where it is now."""
        return Client(self.address, token)

    def tail(self) -> str:
        """The last lines of its log."""
        return "\n".join(self.log.read_text().splitlines()[-20:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.process is not None:
            self.kill()


def processes_below(pid: int) -> list[int]:
    """The processes that one has started and that run."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")  # one a thread: any of them may have started some
    children = [int(one) for file in lists for one in _text(file).split()]
    return [below for child in children for below in (child, *processes_below(child))]


def command_of(pid: int) -> str:
    """How a process was started; empty where it has ended."""
    return _text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")


def runs(pid: int) -> bool:
    """Whether a process runs: one that waits to be buried does not."""
    found = _text(Path(f"/proc/{pid}/stat"))
    return bool(found) and ") Z " not in found


def _text(file: Path) -> str:
    """What the system says in one of its files; nothing where the process has ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def memory_of(pid: int) -> float:
    """Megabytes that a process holds by itself."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def spent_by(pid: int) -> float:
    """Seconds of processor time that a process has used, its children left out."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
