from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import event

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.errors import AccountError, InputError, NotFoundError
from quorate.storage import studies
from quorate.storage.accounts import Accounts
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database
from quorate.storage.people import Seat, folded_name

START = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(tmp_path: Path, clock: Clock) -> Iterator[Accounts]:
    with Database.open(f"sqlite:///{tmp_path}/quorate.db", create=True) as db:
        yield Accounts(db, clock=clock)


def make_study(accounts: Accounts, name: str = "cxr") -> studies.StoredStudy:
    panel = Panel(["normal", "abnormal"], ["ben", "cho"])
    return studies.create(accounts.db, name, StudyConfig(panel, Options(method="all")))


def test_a_user_is_kept_as_given(accounts: Accounts) -> None:
    made = accounts.create_user("Ann", "expert", password="$argon2id$kept")
    assert made == accounts.user(made.id) == accounts.named(" aNN ")
    assert (made.name, made.role, made.password, made.disabled) == ("ann", "expert", "$argon2id$kept", False)
    assert made.created_at == START


def test_users_are_listed_by_name(accounts: Accounts) -> None:
    for name in ("cho", "ann", "ben"):
        accounts.create_user(name, "expert")
    assert [user.name for user in accounts.users()] == ["ann", "ben", "cho"]


def test_a_name_is_taken_once_whatever_its_capitals(accounts: Accounts) -> None:
    accounts.create_user("ann", "expert")
    with pytest.raises(AccountError, match="already a user 'ann'"):
        accounts.create_user("ANN", "admin")
    assert len(accounts.users()) == 1


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a\nb", "a\0b", "x" * 65, "\ud800"])
def test_names_that_cannot_be_are_refused_and_unknown(accounts: Accounts, name: str) -> None:
    with pytest.raises(InputError, match="is no user name; expected 1 to 64 printable"):
        accounts.create_user(name, "expert")
    assert accounts.named(name) is None


def test_folding_is_stable() -> None:
    for name in ("Ann", "STRASSE", "Straße", "Jürgen", "\uff21nn", "ANN@Clinic.example"):
        assert folded_name(folded_name(name)) == folded_name(name)
    assert folded_name("Ju\u0308rgen") == folded_name("jürgen")


def test_a_role_must_be_known(accounts: Accounts) -> None:
    with pytest.raises(InputError, match="'boss' is no role; expected one of admin, manager, expert"):
        accounts.create_user("ann", "boss")
    user = accounts.create_user("ann", "expert")
    with pytest.raises(InputError, match="'boss' is no role"):
        accounts.change_role(user.id, "boss")


def test_whoever_is_not_there_is_not_found(accounts: Accounts) -> None:
    for call in (accounts.user, accounts.disable, accounts.enable):
        with pytest.raises(NotFoundError, match="there is no user 9"):
            call(9)
    with pytest.raises(NotFoundError, match="there is no user 9"):
        accounts.change_role(9, "admin")
    with pytest.raises(NotFoundError, match="there is no user 9"):
        accounts.add_token(9, "api", "digest")
    with pytest.raises(NotFoundError, match="there is no token 9"):
        accounts.revoke(9)


def test_the_last_admin_stays(accounts: Accounts) -> None:
    ann = accounts.create_user("ann", "admin")
    accounts.create_user("ben", "manager")
    with pytest.raises(AccountError, match="'ann' is the last admin and cannot be disabled; make another"):
        accounts.disable(ann.id)
    with pytest.raises(AccountError, match="'ann' is the last admin and cannot lose the role"):
        accounts.change_role(ann.id, "expert")
    assert accounts.user(ann.id) == ann
    accounts.change_role(ann.id, "admin")


def test_of_two_admins_one_may_go(accounts: Accounts) -> None:
    ann, ben = accounts.create_user("ann", "admin"), accounts.create_user("ben", "admin")
    accounts.disable(ann.id)
    with pytest.raises(AccountError, match="'ben' is the last admin"):
        accounts.change_role(ben.id, "manager")  # a disabled admin cannot help
    accounts.enable(ann.id)
    assert accounts.change_role(ben.id, "manager").role == "manager"


def test_two_admins_cannot_leave_at_once(accounts: Accounts) -> None:
    users = [accounts.create_user(name, "admin") for name in ("ann", "ben")]
    gate = Barrier(2)

    def leave(user_id: int) -> bool:
        gate.wait()
        try:
            accounts.disable(user_id)
        except AccountError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(leave, [user.id for user in users])) == [False, True]


def test_seats_are_given_and_taken(accounts: Accounts) -> None:
    make_study(accounts)
    make_study(accounts, "ct")
    ann, dee = accounts.create_user("ann", "expert"), accounts.create_user("dee", "expert")
    assert accounts.give_seat(ann.id, "cxr", "ben") == Seat(ann.id, "cxr", "ben")
    accounts.give_seat(ann.id, "cxr", "ben")
    accounts.give_seat(ann.id, "ct", "cho")
    accounts.give_seat(dee.id, "cxr", "cho")
    assert accounts.seats(user_id=ann.id) == [Seat(ann.id, "ct", "cho"), Seat(ann.id, "cxr", "ben")]
    assert accounts.seats(study="cxr") == [Seat(ann.id, "cxr", "ben"), Seat(dee.id, "cxr", "cho")]
    accounts.take_seat(ann.id, "cxr", "ben")
    assert accounts.seats(user_id=ann.id, study="cxr") == []
    assert len(accounts.seats()) == 2
    with pytest.raises(NotFoundError, match="'ann' has no seat as 'ben' of study 'cxr'"):
        accounts.take_seat(ann.id, "cxr", "ben")


def test_a_seat_is_of_an_expert_that_is_there(accounts: Accounts) -> None:
    stored = make_study(accounts)
    ann = accounts.create_user("ann", "expert")
    with pytest.raises(NotFoundError, match="study 'cxr' has no expert 'dee'; it has ben, cho"):
        accounts.give_seat(ann.id, "cxr", "dee")
    with pytest.raises(NotFoundError, match="there is no study 'mri'"):
        accounts.give_seat(ann.id, "mri", "ben")
    with pytest.raises(NotFoundError, match="there is no user 9"):
        accounts.give_seat(9, "cxr", "ben")
    stored.study.add_expert("dee")
    accounts.give_seat(ann.id, "cxr", "dee")


def test_seats_go_with_their_study(accounts: Accounts) -> None:
    make_study(accounts)
    ann = accounts.create_user("ann", "expert")
    accounts.give_seat(ann.id, "cxr", "ben")
    studies.delete(accounts.db, "cxr")
    assert accounts.seats() == []


def test_a_grant_is_one_query(accounts: Accounts) -> None:
    make_study(accounts)
    ann = accounts.create_user("ann", "expert")
    seats = {accounts.give_seat(ann.id, "cxr", "ben"), accounts.give_seat(ann.id, "cxr", "cho")}
    token = accounts.add_token(ann.id, "api", "digest", label="robot")
    said: list[str] = []
    engines = accounts.db._engines
    for engine in (engines.reader, engines.writer, engines.glancer):
        event.listen(engine, "before_cursor_execute", lambda *given: said.append(given[2]))
    grant = accounts.grant("api", "digest")
    assert grant is not None
    assert (grant.token, grant.user, set(grant.seats)) == (token, ann, seats)
    assert len([text for text in said if text.startswith("SELECT")]) == 1


def test_a_token_opens_by_its_own_kind_and_digest_alone(accounts: Accounts) -> None:
    ann = accounts.create_user("ann", "expert")
    accounts.add_token(ann.id, "link", "digest")
    assert accounts.grant("link", "digest") is not None
    assert accounts.grant("link", "Digest") is None
    assert accounts.grant("session", "digest") is None
    assert accounts.grant("api", "digest") is None
    with pytest.raises(InputError, match="'cookie' is no kind of token"):
        accounts.add_token(ann.id, "cookie", "other")


def test_a_token_ends_when_it_expires(accounts: Accounts, clock: Clock) -> None:
    ann = accounts.create_user("ann", "expert")
    token = accounts.add_token(ann.id, "session", "digest", expires_at=START + HOUR)
    clock.now = START + HOUR - timedelta(microseconds=1)
    assert accounts.grant("session", "digest") is not None
    assert token.live(clock.now)
    clock.now = START + HOUR
    assert accounts.grant("session", "digest") is None
    assert not token.live(clock.now)


def test_a_revoked_token_is_dead_and_keeps_its_first_end(accounts: Accounts, clock: Clock) -> None:
    ann = accounts.create_user("ann", "expert")
    token = accounts.add_token(ann.id, "api", "digest")
    assert accounts.revoke(token.id).revoked_at == START
    clock.now += HOUR
    assert accounts.revoke(token.id).revoked_at == START
    assert accounts.grant("api", "digest") is None


def test_a_disabled_user_is_out_at_once_and_for_good(accounts: Accounts) -> None:
    accounts.create_user("root", "admin")
    ann = accounts.create_user("ann", "expert")
    for kind in ("session", "api", "link"):
        accounts.add_token(ann.id, kind, kind)
    accounts.disable(ann.id)
    assert [accounts.grant(kind, kind) for kind in ("session", "api", "link")] == [None] * 3
    assert accounts.spend_link("link", "new", label="link", expires_at=START + HOUR) is None
    with pytest.raises(AccountError, match="'ann' is disabled; enable the user before"):
        accounts.add_token(ann.id, "api", "another")
    accounts.enable(ann.id)
    assert [accounts.grant(kind, kind) for kind in ("session", "api", "link")] == [None] * 3
    accounts.add_token(ann.id, "api", "another")
    assert accounts.grant("api", "another") is not None


def test_a_link_is_used_once_even_by_many_at_a_time(accounts: Accounts) -> None:
    ann = accounts.create_user("ann", "expert")
    accounts.add_token(ann.id, "link", "link", expires_at=START + HOUR)
    gate = Barrier(4)

    def spend(number: int) -> bool:
        gate.wait()
        return accounts.spend_link("link", f"session-{number}", label="link", expires_at=START + HOUR) is not None

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(4))) == 1
    assert accounts.grant("link", "link") is None
    assert len(accounts.tokens(user_id=ann.id, kinds=("session",))) == 1
    assert accounts.tokens(kinds=("link",))[0].used_at == START


@pytest.mark.parametrize("kind", ["session", "api"])
def test_only_a_link_is_spent(accounts: Accounts, kind: str) -> None:
    ann = accounts.create_user("ann", "expert")
    accounts.add_token(ann.id, kind, "digest")
    assert accounts.spend_link("digest", "new", label="", expires_at=START + HOUR) is None
    assert accounts.grant(kind, "digest") is not None


def test_an_expired_or_revoked_link_is_not_spent(accounts: Accounts, clock: Clock) -> None:
    ann = accounts.create_user("ann", "expert")
    accounts.add_token(ann.id, "link", "old", expires_at=START + HOUR)
    accounts.revoke(accounts.add_token(ann.id, "link", "revoked").id)
    clock.now = START + HOUR
    for digest in ("old", "revoked", "unknown"):
        assert accounts.spend_link(digest, f"new-{digest}", label="", expires_at=START + 2 * HOUR) is None
    assert accounts.tokens(kinds=("session",)) == []


def test_a_new_password_ends_other_sessions_and_links(accounts: Accounts) -> None:
    ann, ben = accounts.create_user("ann", "expert"), accounts.create_user("ben", "expert")
    mine = accounts.add_token(ann.id, "session", "mine")
    for kind, digest in (("session", "other"), ("link", "link"), ("api", "api")):
        accounts.add_token(ann.id, kind, digest)
    accounts.add_token(ben.id, "session", "ben")
    accounts.set_password(ann.id, "hash", keep=mine.id)
    assert accounts.user(ann.id).password == "hash"
    live = [token.digest for token in accounts.tokens() if token.live(START)]
    assert live == ["mine", "api", "ben"]


def test_a_password_hashed_anew_never_undoes_a_change(accounts: Accounts) -> None:
    ann = accounts.create_user("ann", "expert", password="old")
    session = accounts.add_token(ann.id, "session", "digest")
    accounts.refresh_password(ann.id, "old", "old, hashed anew")
    assert accounts.user(ann.id).password == "old, hashed anew"
    accounts.set_password(ann.id, "new", keep=session.id)
    accounts.refresh_password(ann.id, "old, hashed anew", "too late")
    assert accounts.user(ann.id).password == "new"
    assert accounts.grant("session", "digest") is not None


def test_tokens_are_listed_and_revoked_by_user_and_kind(accounts: Accounts) -> None:
    ann, ben = accounts.create_user("ann", "expert"), accounts.create_user("ben", "expert")
    for user, kind in ((ann, "session"), (ann, "api"), (ben, "api")):
        accounts.add_token(user.id, kind, f"{user.name} {kind}")
    assert [token.digest for token in accounts.tokens(user_id=ann.id)] == ["ann session", "ann api"]
    assert [token.digest for token in accounts.tokens(kinds=("api",))] == ["ann api", "ben api"]
    assert accounts.revoke_all(ann.id, ("api",)) == 1
    assert accounts.revoke_all(ann.id) == 1
    assert accounts.grant("api", "ben api") is not None


def test_purging_removes_what_ended_before(accounts: Accounts, clock: Clock) -> None:
    ann = accounts.create_user("ann", "expert")
    accounts.add_token(ann.id, "session", "expired", expires_at=START + HOUR)
    accounts.add_token(ann.id, "session", "live", expires_at=START + 9 * HOUR)
    accounts.add_token(ann.id, "api", "endless")
    accounts.revoke(accounts.add_token(ann.id, "api", "revoked").id)
    accounts.add_token(ann.id, "link", "used")
    accounts.spend_link("used", "begun", label="link", expires_at=START + 9 * HOUR)
    assert accounts.purge(START) == 0
    clock.now += 2 * HOUR
    assert accounts.purge(clock.now) == 3
    assert [token.digest for token in accounts.tokens()] == ["live", "endless", "begun"]


@pytest.mark.parametrize("label", ["x" * 201, "two\nlines"])
def test_labels_are_short_and_printable(accounts: Accounts, label: str) -> None:
    ann = accounts.create_user("ann", "expert")
    with pytest.raises(InputError, match="is no label; expected at most 200 printable"):
        accounts.add_token(ann.id, "api", "digest", label=label)


def test_neither_hashes_nor_digests_are_shown(accounts: Accounts) -> None:
    ann = accounts.create_user("ann", "expert", password="hash-of-a-password")
    accounts.add_token(ann.id, "api", "digest-of-a-token")
    shown = repr(accounts.grant("api", "digest-of-a-token"))
    assert "ann" in shown
    assert "hash-of-a-password" not in shown
    assert "digest-of-a-token" not in shown
