from __future__ import annotations

import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quorate.cli import main as program
from quorate.errors import HealthError, MissingExtraError, SettingsError, StudyError, TargetError

if TYPE_CHECKING:
    from tests.conftest import Program


def test_help_names_every_command_and_is_fast(quorate: Program) -> None:
    start = time.perf_counter()
    done = quorate("--help")
    seconds = time.perf_counter() - start
    assert done.returncode == 0
    for command in ("check", "simulate"):
        assert f"\n  {command} " in done.stdout
    assert seconds < 2  # a bare interpreter takes a part of it on a busy machine


def test_help_imports_neither_numpy_nor_more() -> None:
    code = "import sys, quorate.cli.main; print(*(m for m in ('numpy', 'scipy', 'numba', 'rich') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_version(quorate: Program) -> None:
    done = quorate("--version")
    assert (done.returncode, done.stdout) == (0, f"quorate {version('quorate')}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["check"], "Missing argument"),
        (["check", "a.csv", "--bogus"], "No such option"),
        (["simulate"], "Missing option"),
        (["simulate", "--cases", "many", "-o", "a.csv"], "Invalid value for '--cases'"),
        (["simulate", "--seed", "-1", "-o", "a.csv"], "--seed"),
    ],
)
def test_usage_errors_exit_2_and_write_nothing(
    quorate: Program, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = quorate(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert not any(box in done.stderr for box in "╭│─")
    assert list(tmp_path.iterdir()) == []


def test_without_arguments_the_help_is_shown(quorate: Program) -> None:
    done = quorate()
    assert "Usage: quorate" in done.stdout + done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("no setting 'x'"), 2),
        (TargetError("unknown target 'x'"), 2),
        (StudyError("no case 'x'"), 1),
        (HealthError("nothing may be used"), 1),
        (MissingExtraError("plotting", "plots"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_become_one_line_and_an_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: str) -> None:
        raise error

    monkeypatch.setattr(program, "app", fail)
    with pytest.raises(SystemExit) as stopped:
        program.main()
    assert stopped.value.code == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == ("quorate: interrupted\n" if code == 130 else f"quorate: error: {error}\n")


def test_an_interrupted_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quorate.data.table.read_table", interrupt)
    monkeypatch.setattr(sys, "argv", ["quorate", "check", "votes.csv"])
    with pytest.raises(SystemExit) as stopped:
        program.main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "quorate: interrupted\n"


def test_a_fault_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(program, "app", fail)
    with pytest.raises(ZeroDivisionError):
        program.main()
