from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from quorate import places
from quorate.models import compiled

CALL = "from quorate.models.full.truncated import cdf; assert cdf(0.0) == 0.5"


def test_the_compiler_settings_are_left_as_they_were() -> None:
    before = vars(numba.config)["CACHE_DIR"]

    @compiled.kernel
    def double(x: float) -> float:
        return 2.0 * x

    assert double(2.0) == 4.0
    assert vars(numba.config)["CACHE_DIR"] == before


def test_the_folder_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("QUORATE_CACHE_DIR", raising=False)
    assert places.cache_root() == tmp_path / "quorate"
    monkeypatch.setenv("QUORATE_CACHE_DIR", str(tmp_path / "own"))
    assert places.cache_root() == tmp_path / "own"
    monkeypatch.delenv("QUORATE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert places.cache_root().name == "quorate"


def _run(folder: str) -> None:
    environment = {"QUORATE_CACHE_DIR": folder, "PATH": "", "HOME": "/"}
    subprocess.run([sys.executable, "-W", "error", "-c", CALL], env=environment, check=True, timeout=120)


def test_kernels_are_kept_in_their_folder(tmp_path: Path) -> None:
    _run(str(tmp_path))
    (folder,) = tmp_path.iterdir()
    assert folder.name == f"kernels-full-{compiled.source_hash('full')}"
    assert list(folder.rglob("truncated.cdf*.nbi"))


def test_without_a_folder_nothing_is_kept_and_all_works(tmp_path: Path) -> None:
    file = tmp_path / "a file, not a folder"
    file.write_text("")
    assert not compiled.writable(file)
    _run(str(file))
