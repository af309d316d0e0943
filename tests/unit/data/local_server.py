"""A made panel and a real server on this machine to fetch it from."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from quorate.data.published import Published

CONTENT = b"""\
expert1,expert2,img_name,model_p0,model_p1,Y_H,consensus
1,0,scan-1.png,0.25,0.75,"[1, 0]",0
0,0,scan-2.png,0.9,0.1,"[0, 0]",1
1,1,scan-3.png,0.5,0.5,"[1, 1]",1
"""


def made(content: bytes = CONTENT, **changed: object) -> Published:
    """A panel whose published file is `content`."""
    panel = Published(
        name="made",
        about="three made scans",
        cite="nobody",
        path="data/made/data_clean.csv",
        sha256=hashlib.sha256(content).hexdigest(),
        experts=2,
        classes=("normal", "abnormal"),
        cases=3,
        key="img_name",
    )
    return replace(panel, **changed)  # type: ignore[arg-type]  # fields by name


@dataclass
class Server:
    """A real server on this machine and how it behaves."""

    body: bytes = CONTENT
    status: int = 200
    announced: int | None = None  # Content-Length, where it is not that of the body
    sized: bool = True  # whether there is a Content-Length at all
    hangs: str = ""  # "before" or "after" the head of the answer
    resets: bool = False
    drips: bool = False
    asked: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    base: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        if self.resets:
            at_once = struct.pack("ii", 1, 0)  # close with a reset, as a router that drops the connection does
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            handler.connection.close()
            return
        if self.hangs == "before":
            self.over.wait(20)
            return
        handler.send_response(self.status)
        if self.sized:
            handler.send_header("Content-Length", str(len(self.body) if self.announced is None else self.announced))
        handler.end_headers()
        if self.drips:
            while not self.over.wait(0.05):
                handler.wfile.write(b"x")
        half = len(self.body) // 2
        handler.wfile.write(self.body[:half])
        if self.hangs == "after":
            handler.wfile.flush()
            self.over.wait(20)
        handler.wfile.write(self.body[half:])


@contextmanager
def serving() -> Iterator[Server]:
    """A server on the loopback interface, in a thread."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):  # the client has gone, as it should
                server.answer(self)
            self.close_connection = True

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.base = f"http://127.0.0.1:{http.server_address[1]}/mirror"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            http.shutdown()
            thread.join()


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
