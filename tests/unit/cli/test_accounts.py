"""`quorate user` and `quorate token` on a real database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.service.keyfile import read_or_make_key
from quorate.service.tokens import Tokens
from quorate.storage import studies
from quorate.storage.accounts import Accounts
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database
from tests.unit.cli.program import call


@pytest.fixture
def db(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/q.db"
    with Database.open(url, create=True) as opened:
        studies.create(opened, "cxr", StudyConfig(Panel(["no", "yes"], ["ben", "cho"]), Options(method="all")))
    return url


class Run:
    """The program on one database; what it said."""

    def __init__(self, db: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.db, self._monkeypatch, self._capsys = db, monkeypatch, capsys

    def __call__(self, *words: object, code: int = 0) -> tuple[str, str]:
        assert call(self._monkeypatch, *words, "--db", self.db) == code
        said = self._capsys.readouterr()
        return said.out, said.err


@pytest.fixture
def run(db: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(db, monkeypatch, capsys)


def test_users_are_created_seated_and_listed(run: Run) -> None:
    out, _ = run("user", "create", "Ann", "--role", "admin")
    assert out == "created admin 'ann'; `quorate user link` gives a sign-in link\n"
    run("user", "create", "dee")
    out, _ = run("user", "seat", "dee", "--study", "cxr", "--expert", "ben")
    assert out == "'dee' votes as 'ben' in study 'cxr'\n"
    run("user", "seat", "dee", "--study", "cxr", "--expert", "cho")
    out, _ = run("user", "list")
    heading, *rows = out.splitlines()
    assert heading.split() == ["name", "role", "created", "password", "state", "seats"]
    assert [row.split()[:2] + row.split()[4:] for row in rows] == [
        ["ann", "admin", "no", "enabled"],
        ["dee", "expert", "no", "enabled", "cxr:ben,", "cxr:cho"],
    ]
    out, _ = run("user", "seat", "dee", "--study", "cxr", "--expert", "ben", "--take")
    assert out == "'dee' no longer votes as 'ben' in study 'cxr'\n"
    listed = json.loads(run("user", "list", "--json")[0])["users"]
    assert listed[1]["seats"] == [{"study": "cxr", "expert": "cho"}]
    assert {"name", "role", "disabled", "password", "created_at", "seats"} == set(listed[0])


def test_users_change_role_and_are_disabled(run: Run) -> None:
    run("user", "create", "ann", "--role", "admin")
    run("user", "create", "ben")
    _, err = run("user", "disable", "ann", code=1)
    assert err == ("quorate: error: 'ann' is the last admin and cannot be disabled; make another user an admin first\n")
    assert run("user", "role", "ben", "admin")[0] == "'ben' is admin now\n"
    assert run("user", "disable", "ann")[0].startswith("'ann' is disabled;")
    assert "disabled" in run("user", "list")[0]
    assert run("user", "enable", "ann")[0].startswith("'ann' is enabled;")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["user", "create", "ann", "--role", "boss"], "'boss' is no role; expected one of admin, manager, expert"),
        (["user", "create", "a/b"], "'a/b' is no user name"),
        (["user", "disable", "nobody"], "there is no user 'nobody'; the users are none"),
        (["user", "link", "nobody"], "there is no user 'nobody'"),
        (["token", "create", "nobody"], "there is no user 'nobody'"),
        (["token", "list", "--user", "nobody"], "there is no user 'nobody'"),
        (["token", "revoke", "9"], "there is no token 9"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Run, words: list[str], message: str) -> None:
    out, err = run(*words, code=1)
    assert out == ""
    assert err.startswith("quorate: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_seat_needs_a_study_and_an_expert(run: Run) -> None:
    run("user", "create", "ann")
    _, err = run("user", "seat", "ann", "--study", "cxr", "--expert", "zoe", code=1)
    assert "study 'cxr' has no expert 'zoe'; it has ben, cho" in err
    _, err = run("user", "seat", "ann", "--study", "ct", "--expert", "ben", code=1)
    assert "there is no study 'ct'" in err


def test_a_link_signs_in_once(run: Run, db: str, tmp_path: Path) -> None:
    run("user", "create", "ann")
    out, err = run("user", "link", "ann", "--url", "https://quorate.example/")
    start, _, secret = out.strip().rpartition("/")
    assert start == "https://quorate.example/sign-in"
    assert err == "the link signs 'ann' in once, within 15 minutes\n"
    assert (tmp_path / "q.db.key").stat().st_mode & 0o777 == 0o600
    with Database.open(db) as opened:
        tokens = Tokens(Accounts(opened), read_or_make_key(tmp_path / "q.db.key"))
        assert tokens.spend_link(secret) is not None
    assert run("user", "link", "ann", "--url", "quorate.example", code=2)[0] == ""


def test_tokens_are_created_listed_and_revoked(run: Run, db: str, tmp_path: Path) -> None:
    run("user", "create", "ann", "--role", "manager")
    out, err = run("token", "create", "ann", "--label", "PACS robot", "--days", 30)
    secret = out.strip()
    assert secret.startswith("quo_")
    assert err.startswith("token 1 of 'ann', good until 2")
    assert secret not in err
    with Database.open(db) as opened:
        tokens = Tokens(Accounts(opened), read_or_make_key(tmp_path / "q.db.key"))
        assert tokens.read("api", secret) is not None
        run("user", "link", "ann")
        listed, _ = run("token", "list")
        assert secret not in listed
        heading, row = listed.splitlines()
        assert heading.split() == ["id", "user", "kind", "state", "created", "expires", "label"]
        assert row.split()[:4] == ["1", "ann", "api", "live"]
        assert row.endswith("PACS robot")
        assert run("token", "revoke", 1)[0] == "token 1 is revoked\n"
        assert tokens.read("api", secret) is None
    shown = json.loads(run("token", "list", "--all", "--user", "ann", "--json")[0])["tokens"]
    assert [(token["kind"], token["state"], token["user"]) for token in shown] == [
        ("api", "revoked", "ann"),
        ("link", "live", "ann"),
    ]
    assert not any("digest" in token for token in shown)


def test_a_key_elsewhere_is_used(run: Run, tmp_path: Path) -> None:
    run("user", "create", "ann")
    _, err = run("token", "create", "ann", "--key-file", tmp_path / "own.key")
    assert "good until it is revoked" in err
    assert (tmp_path / "own.key").exists()
    assert not (tmp_path / "q.db.key").exists()
    (tmp_path / "own.key").chmod(0o644)
    _, err = run("token", "create", "ann", "--key-file", tmp_path / "own.key", code=1)
    assert "is open to others (mode 0644)" in err


def test_a_database_that_is_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "user", "list", "--db", f"sqlite:///{tmp_path}/none.db") == 1
    assert "there is no database" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
