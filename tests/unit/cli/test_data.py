from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from quorate.cli import data, main
from quorate.data import published as module
from quorate.data.published import PUBLISHED
from tests.unit.data.local_server import Server, closed_port, made, serving

if TYPE_CHECKING:
    from tests.conftest import Program

NAMES = ["chestxray", "chaoyang", "cifar10h", "imagenet16h"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A mirror on this machine, an empty cache, and an empty folder to work in."""
    with serving() as running:
        monkeypatch.setenv("QUORATE_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("QUORATE_PUBLISHED_URL", running.base)
        monkeypatch.setenv("no_proxy", "*")
        monkeypatch.chdir(tmp_path)
        yield running


@pytest.fixture
def two_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two made panels in the place of the published ones."""
    monkeypatch.setattr(module, "PUBLISHED", (made(), made(name="other", path="data/other.csv")))


@pytest.mark.usefixtures("two_panels")
class TestFetch:
    def test_all_by_default_into_the_current_folder(self, server: Server, tmp_path: Path) -> None:
        done = CliRunner().invoke(main.app, ["data", "fetch"])
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        what = "3 cases, 2 experts, 2 classes, 1 classifier (downloaded); --classes normal,abnormal"
        assert lines[:2] == [f"made.csv: {what}", f"other.csv: {what}"]
        assert "belong to others and state no licence" in lines[-1]
        assert "ICML 2025" in lines[-1]
        assert (tmp_path / "made.csv").read_text().startswith("item,expert_1,expert_2,p_0,p_1\nscan-1.png,1,0,")
        assert len(server.asked) == 2

    def test_one_by_name_and_then_from_the_cache(self, server: Server, tmp_path: Path) -> None:
        for origin in ("downloaded", "from the cache"):
            done = CliRunner().invoke(main.app, ["data", "fetch", "made", "made", "-o", "a/b"])
            assert done.exit_code == 0, done.output
            assert done.stdout.count(f"({origin})") == 1
        assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["made.csv"]
        assert len(server.asked) == 1

    @pytest.mark.usefixtures("server")
    def test_a_bar_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        data.fetch(panels=["made"], output=Path())
        shown = capsys.readouterr()
        assert "fetching made" in shown.err
        assert "fetching" not in shown.out


class TestTrouble:
    def test_a_wrong_hash(self, server: Server, quorate: Program, tmp_path: Path) -> None:
        done = quorate("data", "fetch", "chaoyang", "chestxray")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("quorate: error: chaoyang: ")
        assert f"expected SHA-256 {PUBLISHED[1].sha256}, got {made().sha256}" in done.stderr
        assert not list(tmp_path.rglob("*.csv"))
        assert len(server.asked) == 1

    @pytest.mark.usefixtures("server")
    def test_no_network(self, quorate: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        port = closed_port()
        monkeypatch.setenv("QUORATE_PUBLISHED_URL", f"http://127.0.0.1:{port}")
        done = quorate("data", "fetch")
        assert done.returncode == 1
        assert f"chestxray: cannot reach 127.0.0.1:{port} (Connection refused); check the network" in done.stderr
        assert "by hand and save it as" in done.stderr
        assert done.stderr.count("\n") == 1

    def test_an_unknown_name(self, server: Server, quorate: Program, tmp_path: Path) -> None:
        done = quorate("data", "fetch", "chestxray", "zed", "-o", "new")
        known = ", ".join(NAMES)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"quorate: error: no published panel 'zed'; there are {known}\n"
        assert server.asked == []
        assert not (tmp_path / "new").exists()

    def test_a_folder_that_cannot_be_made(self, server: Server, quorate: Program, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        done = quorate("data", "fetch", "-o", "file/panels")
        assert done.returncode == 1
        assert "cannot write to the folder 'file/panels': Not a directory; name another with -o" in done.stderr
        assert server.asked == []

    @pytest.mark.usefixtures("two_panels", "server")
    def test_a_table_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "made.csv").mkdir()
        done = CliRunner().invoke(main.app, ["data", "fetch", "made"])
        assert "cannot write 'made.csv': it is a directory" in str(done.exception)

    @pytest.mark.usefixtures("server")
    def test_a_mirror_that_is_no_address(self, quorate: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("QUORATE_PUBLISHED_URL", "file:///etc")
        done = quorate("data", "fetch")
        assert done.returncode == 2
        assert "'file:///etc' is no address to fetch from" in done.stderr


class TestList:
    def test_a_table_for_people(self, server: Server, quorate: Program) -> None:
        done = quorate("data", "list")
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert lines[0].split() == ["name", "experts", "classes", "cases", "cached", "what"]
        assert [line.split()[:5] for line in lines[1:5]] == [
            ["chestxray", "5", "2", "810", "no"],
            ["chaoyang", "3", "4", "750", "no"],
            ["cifar10h", "3", "3", "3000", "no"],
            ["imagenet16h", "3", "3", "1181", "no"],
        ]
        assert "Nabulsi et al. 2021" in lines[1]
        assert "https://raw.githubusercontent.com/markellekelly/consensus/" in done.stdout
        assert "belong to others and state no licence" in done.stdout
        assert server.asked == []

    @pytest.mark.usefixtures("server")
    def test_json(self, quorate: Program, tmp_path: Path) -> None:
        done = quorate("data", "list", "--json")
        shown = json.loads(done.stdout)
        assert [panel["name"] for panel in shown["panels"]] == NAMES
        assert "no licence" in shown["notice"]
        assert shown["panels"][0] == {
            "name": "chestxray",
            "experts": 5,
            "classes": ["normal", "abnormal"],
            "cases": 810,
            "about": PUBLISHED[0].about,
            "cite": PUBLISHED[0].cite,
            "address": f"{module.REPOSITORY}/data/nih/data_clean.csv",
            "sha256": PUBLISHED[0].sha256,
            "cached": False,
            "file": str(tmp_path / "cache" / "panels" / "chestxray.csv"),
        }

    @pytest.mark.usefixtures("two_panels", "server")
    def test_what_was_fetched_is_cached(self) -> None:
        assert CliRunner().invoke(main.app, ["data", "fetch", "other"]).exit_code == 0
        shown = json.loads(CliRunner().invoke(main.app, ["data", "list", "--json"]).stdout)
        assert [panel["cached"] for panel in shown["panels"]] == [False, True]


def test_help_says_whose_the_data_are(quorate: Program) -> None:
    assert "belong to others and state no licence" in " ".join(quorate("data", "fetch", "--help").stdout.split())
    assert "fetch" in quorate("data", "--help").stdout
