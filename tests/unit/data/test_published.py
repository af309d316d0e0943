from __future__ import annotations

import csv
import hashlib
import io
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.data import published as module
from quorate.data.published import (
    PUBLISHED,
    REPOSITORY,
    Published,
    address,
    cache_file,
    cache_folder,
    convert,
    fetch,
    is_cached,
    published,
    write_indexed,
)
from quorate.data.table import read_table
from quorate.errors import FetchError, InputError, SettingsError, TableError
from tests.unit.data.local_server import CONTENT, Server, closed_port, made, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no proxy before the loopback interface."""
    monkeypatch.setenv("QUORATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("QUORATE_PUBLISHED_URL", raising=False)
    return tmp_path / "cache" / "panels"


def refused(panel: Published, **options: object) -> str:
    with pytest.raises(FetchError) as caught:
        fetch(panel, **options)  # type: ignore[arg-type]  # options by name
    return str(caught.value)


@pytest.mark.usefixtures("cache")
class TestFetching:
    def test_a_file_is_downloaded_checked_kept_and_converted(self, server: Server, cache: Path) -> None:
        seen: list[tuple[int, int | None]] = []
        found = fetch(made(), base=server.base, progress=lambda done, size: seen.append((done, size)))
        assert (found.downloaded, found.file) == (True, cache / "made.csv")
        assert found.file.read_bytes() == CONTENT
        assert server.asked == ["/mirror/data/made/data_clean.csv"]
        assert seen[-1] == (len(CONTENT), len(CONTENT))
        assert found.table.keys == ("scan-1.png", "scan-2.png", "scan-3.png")
        assert [path.name for path in cache.iterdir()] == ["made.csv"]

    def test_what_is_kept_is_not_asked_for_again(self, server: Server) -> None:
        assert not is_cached(made())
        first = fetch(made(), base=server.base)
        assert is_cached(made())
        second = fetch(made(), base=server.base)
        assert (first.downloaded, second.downloaded) == (True, False)
        assert second.table == first.table
        assert len(server.asked) == 1

    def test_a_damaged_file_in_the_cache_is_downloaded_anew(self, server: Server, cache: Path) -> None:
        cache.mkdir(parents=True)
        (cache / "made.csv").write_bytes(CONTENT[:-5])
        assert not is_cached(made())
        assert fetch(made(), base=server.base).downloaded
        assert (cache / "made.csv").read_bytes() == CONTENT

    def test_a_file_saved_by_hand_needs_no_network(self, cache: Path) -> None:
        cache.mkdir(parents=True)
        (cache / "made.csv").write_bytes(CONTENT)
        assert not fetch(made(), base=f"http://127.0.0.1:{closed_port()}").downloaded

    def test_a_server_that_does_not_say_how_much_comes(self, server: Server) -> None:
        server.sized = False
        seen: list[int | None] = []
        assert fetch(made(), base=server.base, progress=lambda _, size: seen.append(size)).downloaded
        assert set(seen) == {None}

    def test_the_environment_names_a_mirror(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("QUORATE_PUBLISHED_URL", server.base + "/")
        assert fetch(made()).downloaded
        assert server.asked == ["/mirror/data/made/data_clean.csv"]


@pytest.mark.usefixtures("cache")
class TestTrouble:
    def test_a_wrong_hash(self, server: Server, cache: Path) -> None:
        server.body = b"<html>please log in</html>"
        message = refused(made(), base=server.base)
        assert f"expected SHA-256 {made().sha256}" in message
        assert f"got {hashlib.sha256(server.body).hexdigest()} (26 bytes); nothing was kept" in message
        assert list(cache.iterdir()) == []
        assert len(server.asked) == 1

    def test_a_cut_connection(self, server: Server, cache: Path) -> None:
        server.announced = len(CONTENT) + 100
        message = refused(made(), base=server.base)
        assert f"closed the connection after {len(CONTENT)} of {len(CONTENT) + 100} bytes; try again later" in message
        assert list(cache.iterdir()) == []
        assert len(server.asked) == 1

    def test_a_connection_that_is_reset(self, server: Server, cache: Path) -> None:
        server.resets = True
        assert "made: the connection to 127.0.0.1:" in refused(made(), base=server.base)
        assert list(cache.iterdir()) == []

    @pytest.mark.parametrize(("status", "words"), [(404, "404 Not Found"), (503, "503 Service Unavailable")])
    def test_an_error_status(self, server: Server, cache: Path, status: int, words: str) -> None:
        server.status = status
        message = refused(made(), base=server.base)
        assert f" answered {words} for {server.base}/data/made/data_clean.csv; try again later" in message
        assert list(cache.iterdir()) == []
        assert len(server.asked) == 1

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_a_server_that_hangs(self, server: Server, cache: Path, when: str) -> None:
        server.hangs = when
        message = refused(made(), base=server.base, timeout=0.3)
        assert "127.0.0.1" in message
        assert "sent nothing for 0.3 s; try again later" in message
        assert list(cache.iterdir()) == []

    def test_a_server_that_drips(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        server.drips, server.announced = True, 10_000
        monkeypatch.setattr(module, "LONGEST", 0.3)
        assert "bytes in 0.3 s; try again later" in refused(made(), base=server.base)

    def test_a_server_that_never_ends(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        server.sized = False
        monkeypatch.setattr(module, "LARGEST", 50)
        assert "sent more than 50 bytes, far more than the published file has" in refused(made(), base=server.base)

    def test_nobody_listens(self, cache: Path) -> None:
        port = closed_port()
        message = refused(made(), base=f"http://127.0.0.1:{port}")
        source = f"http://127.0.0.1:{port}/data/made/data_clean.csv"
        assert message == (
            f"made: cannot reach 127.0.0.1:{port} (Connection refused); check the network; try again later, "
            f"or download {source} by hand and save it as {str(cache / 'made.csv')!r}"
        )

    def test_no_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*_args: object, **_named: object) -> None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        message = refused(PUBLISHED[0])
        assert "cannot reach raw.githubusercontent.com (Name or service not known); check the network" in message

    def test_a_wrong_file_saved_by_hand_is_named(self, cache: Path) -> None:
        cache.mkdir(parents=True)
        (cache / "made.csv").write_bytes(b"other")
        message = refused(made(), base=f"http://127.0.0.1:{closed_port()}")
        assert f"(the file there now has SHA-256 {hashlib.sha256(b'other').hexdigest()}, not" in message
        assert (cache / "made.csv").read_bytes() == b"other"

    def test_a_cache_that_cannot_be_made(self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("QUORATE_CACHE_DIR", str(tmp_path / "file"))
        message = refused(made(), base=server.base)
        assert "Not a directory" in message
        assert "set QUORATE_CACHE_DIR to a folder that can be written" in message
        assert server.asked == []

    def test_a_folder_in_the_place_of_the_file(self, server: Server, cache: Path) -> None:
        (cache / "made.csv").mkdir(parents=True)
        assert "in the cache: Is a directory; free the place" in refused(made(), base=server.base)
        assert not is_cached(made())

    def test_a_disk_that_is_full(self, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        @contextmanager
        def full(path: Path) -> Iterator[io.BytesIO]:
            raise InputError(f"cannot write {str(path)!r}: No space left on device")
            yield io.BytesIO()

        monkeypatch.setattr(module, "replacing", full)
        message = refused(made(), base=server.base)
        assert "No space left on device; free the place, or set QUORATE_CACHE_DIR" in message
        assert list(cache.iterdir()) == []


class TestAddresses:
    def test_the_published_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("QUORATE_PUBLISHED_URL", raising=False)
        assert address(published("chestxray")) == f"{REPOSITORY}/data/nih/data_clean.csv"
        assert all(address(panel).startswith("https://") for panel in PUBLISHED)

    @pytest.mark.parametrize(
        "base",
        [
            "file:///etc",
            "ftp://host",
            "host",
            "https://",
            "http://h:port",
            "http://h/a b",
            "http://ü",
            "http://[",
            "http://u:p@h",
        ],
    )
    def test_addresses_that_are_none(self, base: str) -> None:
        with pytest.raises(SettingsError, match="is no address to fetch from; expected one such as https://"):
            address(PUBLISHED[0], base)

    def test_an_unknown_name_lists_the_known(self) -> None:
        known = "chestxray, chaoyang, cifar10h, imagenet16h"
        with pytest.raises(SettingsError, match=f"no published panel 'zed'; there are {known}"):
            published("zed")

    def test_where_files_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/ann")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("QUORATE_CACHE_DIR", raising=False)
        assert cache_folder() == Path("/home/ann/.cache/quorate/panels")
        monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
        assert cache_folder() == Path("/caches/quorate/panels")
        monkeypatch.setenv("QUORATE_CACHE_DIR", "/own")
        assert cache_file(published("chaoyang")) == Path("/own/panels/chaoyang.csv")


class TestConversion:
    def test_votes_probabilities_and_names(self) -> None:
        table = convert(made(), CONTENT)
        assert table.panel.classes == ("normal", "abnormal")
        assert table.panel.experts == ("expert_1", "expert_2")
        assert table.votes.tolist() == [[1, 0], [0, 0], [1, 1]]  # whatever the column `consensus` says
        assert table.probabilities[:, 0].tolist() == [[0.25, 0.75], [0.9, 0.1], [0.5, 0.5]]

    def test_the_first_rows_alone_and_a_key_from_a_number(self) -> None:
        content = CONTENT.replace(b"img_name", b"").replace(b"scan-", b"").replace(b".png", b"")
        table = convert(made(content, key="", key_prefix="test_", cases=2), content)
        assert table.keys == ("test_1", "test_2")

    def test_the_written_table_reads_with_and_without_names(self, tmp_path: Path) -> None:
        table = convert(made(), CONTENT)
        write_indexed(table, tmp_path / "made.csv")
        assert (tmp_path / "made.csv").read_text().splitlines()[:2] == [
            "item,expert_1,expert_2,p_0,p_1",
            "scan-1.png,1,0,0.25,0.75",
        ]
        assert read_table(tmp_path / "made.csv", classes=["normal", "abnormal"]) == table
        assert np.array_equal(read_table(tmp_path / "made.csv").votes, table.votes)

    @pytest.mark.parametrize(
        "content", [b"", b"\xff", CONTENT[:60], CONTENT.replace(b"expert2", b"other"), CONTENT[:-9], CONTENT + b'"']
    )
    def test_what_is_not_in_the_published_form(self, content: bytes) -> None:
        with pytest.raises(TableError, match="is not in the published form; expected columns 'img_name', expert1 to"):
            convert(made(), content)

    def test_cells_that_make_no_sense(self) -> None:
        with pytest.raises(TableError, match="row 1: expert1: unknown class '7'"):
            convert(made(), CONTENT.replace(b"\n1,0,scan-1", b"\n7,0,scan-1"))


def rebuilt(name: str, shared: Path) -> bytes:
    """The published file of a shared panel: for all but CIFAR-10H, of which the rest is made up, to the byte."""
    panel = published(name)
    with shared.open(newline="") as file:
        rows = list(csv.DictReader(file))
    experts = [f"expert{h}" for h in range(1, panel.experts + 1)]
    stated = [f"model_p{k}" for k in range(len(panel.classes))]
    header = {
        "chestxray": [*experts, "img_name", *stated, "Y_H", "consensus"],
        "chaoyang": ["name", *experts, *stated, "Y_H", "consensus"],
        "cifar10h": ["", *experts, "consensus", *stated, "model_pred_int"],
        "imagenet16h": ["", "image_name", *experts, "consensus", "noise_level", *stated],
    }[name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    extra = [rows[0]] * 5 if name == "cifar10h" else []  # rows past those that are kept
    for number, row in enumerate(rows + extra):
        votes = [row[f"expert_{h}"] for h in range(1, panel.experts + 1)]
        cells = dict(zip(experts, votes, strict=True))
        cells |= {column: row[f"p_{k}"] for k, column in enumerate(stated)}
        cells |= {"": str(number), "Y_H": f"[{', '.join(votes)}]", "noise_level": "120", "model_pred_int": "0.0"}
        cells["consensus"] = "9" if name == "cifar10h" else Counter(votes).most_common(1)[0][0]
        if panel.key:
            cells[panel.key] = row["item"]
        writer.writerow([cells[column] for column in header])
    return text.getvalue().encode()


@pytest.mark.panels
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", [panel.name for panel in PUBLISHED])
def test_a_fetched_panel_is_the_shared_one(name: str, panels: Path, server: Server) -> None:
    panel = published(name)
    server.body = rebuilt(name, panels / f"{name}.csv")
    if name == "cifar10h":  # the shared table holds only its first rows, so its hash cannot be met
        panel = replace(panel, sha256=hashlib.sha256(server.body).hexdigest())
    assert fetch(panel, base=server.base).table == read_table(panels / f"{name}.csv", classes=panel.classes)
