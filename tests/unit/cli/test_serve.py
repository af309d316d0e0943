"""`quorate serve`: it starts, says where it is, answers, and stops when it is told."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.conftest import Program

LONGEST = 60.0


def address_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Where the service says it is, and the link of its first start."""
    assert process.stdout is not None
    told = ""
    while "Stop it" not in told:
        line = process.stdout.readline()
        assert line, told
        told += line
    found = re.search(r"quorate is at (http://127\.0\.0\.1:\d+)", told)
    link = re.search(r"(http://\S+/sign-in/\S+)", told)
    assert found, told
    return found[1], link[1] if link else ""


def answer(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=10) as response:  # noqa: S310  # our own server
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_it_serves_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quorate.cli.main", "serve", "--db", "sqlite:///q.db", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address, link = address_of(process)
            assert answer(f"{address}/readyz")[0] == 200  # at once: it says where it is when it is there
            assert answer(f"{address}/healthz")[0] == 200
            status, body = answer(f"{address}/api/studies")
            assert status == 401
            assert json.loads(body)["error"]["code"] == "unauthorized"
            assert link.startswith(address)
            assert answer(link)[0] == 200
            assert answer(f"{address}/metrics")[0] == 401
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=LONGEST)
        finally:
            process.kill()
    assert process.returncode in (0, -signal.SIGTERM)
    lines = [json.loads(line) for line in errors.splitlines()]
    assert any(line.get("route") == "/readyz" for line in lines)
    assert link.rsplit("/", 1)[1] not in errors  # the link's secret is in no log
    key = tmp_path / "q.db.key"
    assert key.stat().st_mode & 0o077 == 0


def test_a_connection_waits_for_somebody_who_thinks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quorate.cli.main", "serve", "--db", "sqlite:///q.db", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            address, _ = address_of(process)
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=LONGEST)
            connection.connect()
            before = connection.sock
            for pause in (0, 7):  # servers commonly hang up after five seconds
                time.sleep(pause)
                connection.request("GET", "/healthz")
                assert connection.getresponse().read() == b'{"status":"ok"}'
            assert connection.sock is before
            connection.close()
        finally:
            process.kill()


def test_a_port_in_use_is_named(quorate: Program) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = quorate("serve", "--port", str(port))
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


def test_a_cluster_that_does_not_answer_is_named(quorate: Program) -> None:
    done = quorate("serve", "--port", "0", "--cluster", "tcp://127.0.0.1:1")
    assert done.returncode == 1
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in done.stderr


def test_an_origin_that_is_none_is_named(quorate: Program) -> None:
    done = quorate("serve", "--db", "sqlite:///q.db", "--port", "0", "--image-origin", "images.example")
    assert done.returncode == 2
    assert "image origin 'images.example' is no origin; expected one such as https://" in done.stderr
    assert "quorate is at" not in done.stdout
