from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from quorate.service.tokens import Kind, Tokens, first_link, new_secret, same_text
from quorate.storage.accounts import Accounts
from tests.unit.service.conftest import KEY

if TYPE_CHECKING:
    from quorate.storage.people import Grant
    from tests.unit.service.conftest import Clock


def test_secrets_are_long_random_and_fit_into_addresses(tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    issued = tokens.issue_api(ann.id, label="robot")
    assert re.fullmatch(r"quo_[A-Za-z0-9_-]{43}", issued.secret)
    assert len({new_secret() for _ in range(100)}) == 100
    assert issued.token.label == "robot"


def test_neither_secret_nor_digest_is_shown_or_stored_in_clear(tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    issued = tokens.issue_api(ann.id)
    assert issued.secret not in repr(issued)
    assert issued.token.digest not in repr(issued)
    assert issued.secret not in issued.token.digest
    assert "kind='api'" in repr(issued)


def test_a_secret_is_known_again_by_its_kind_and_key_alone(tokens: Tokens) -> None:
    accounts = tokens.accounts
    ann = accounts.create_user("ann", "expert")
    issued = {"session": tokens.issue_session(ann.id, by="password"), "api": tokens.issue_api(ann.id)}
    issued["link"] = tokens.issue_link(ann.id)
    kinds: tuple[Kind, ...] = ("session", "api", "link")
    for kind in kinds:
        for other in kinds:
            grant = tokens.read(kind, issued[other].secret)
            assert (grant is not None) == (kind == other)
    assert Tokens(accounts, bytes(32)).read("api", issued["api"].secret) is None
    assert tokens.read("api", issued["api"].token.digest) is None
    assert tokens.read("api", "x" * 10**6) is None


def test_lifetimes(tokens: Tokens, clock: Clock) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    start = clock.now
    lives: dict[str, timedelta | None] = {
        "session": timedelta(hours=12),
        "link": timedelta(minutes=15),
        "api": None,
        "short": timedelta(days=2),
    }
    issued = {
        "session": tokens.issue_session(ann.id, by="password"),
        "link": tokens.issue_link(ann.id),
        "api": tokens.issue_api(ann.id),
        "short": tokens.issue_api(ann.id, lifetime=timedelta(days=2)),
    }
    for name, life in lives.items():
        assert issued[name].token.expires_at == (None if life is None else start + life)
    clock.pass_by(hours=12)
    assert tokens.read("session", issued["session"].secret) is None
    assert tokens.read("api", issued["api"].secret) is not None


def test_a_secret_of_a_moment_ago_is_recalled_until_anything_changes(accounts: Accounts, clock: Clock) -> None:
    tokens = Tokens(accounts, KEY, ticks=clock.seconds)
    ann, ben = accounts.create_user("ann", "expert"), accounts.create_user("ben", "expert")
    issued, other = tokens.issue_api(ann.id), tokens.issue_api(ben.id)
    assert tokens.recall("api", issued.secret) is None, "it was not read yet"
    read = tokens.read("api", issued.secret)
    assert read is not None
    assert tokens.recall("api", issued.secret) == read
    assert tokens.recall("api", other.secret) is None
    assert tokens.recall("session", issued.secret) is None
    assert tokens.recall("api", "x" * 10**6) is None
    clock.pass_by(seconds=1.5)
    assert tokens.recall("api", issued.secret) is None, "another program may have revoked it"
    tokens.read("api", issued.secret)
    accounts.change_role(ben.id, "manager")
    assert tokens.recall("api", issued.secret) is None
    tokens.read("api", issued.secret)
    accounts.disable(ann.id)
    assert tokens.recall("api", issued.secret) is tokens.read("api", issued.secret) is None
    assert tokens.recall("api", issued.secret) is None, "what opens nothing is not kept"


def test_a_secret_is_not_recalled_beyond_its_end(accounts: Accounts, clock: Clock) -> None:
    tokens = Tokens(accounts, KEY, ticks=lambda: 0.0)
    ann = accounts.create_user("ann", "expert")
    issued = tokens.issue_api(ann.id, lifetime=timedelta(seconds=0.5))
    tokens.read("api", issued.secret)
    assert tokens.recall("api", issued.secret) is not None
    clock.pass_by(seconds=0.5)
    assert tokens.recall("api", issued.secret) is None


def test_what_changes_while_a_secret_is_read_is_not_missed(
    accounts: Accounts, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(accounts, KEY, ticks=clock.seconds)
    ann = accounts.create_user("ann", "expert")
    issued = tokens.issue_api(ann.id)
    look = accounts.grant

    def slow(kind: str, digest: str) -> Grant | None:
        found = look(kind, digest)
        accounts.disable(ann.id)
        return found

    monkeypatch.setattr(accounts, "grant", slow)
    assert tokens.read("api", issued.secret) is not None, "it held as it was read"
    assert tokens.recall("api", issued.secret) is None


def test_few_secrets_are_kept(accounts: Accounts, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.service.tokens.MOST_RECENT", 3)
    tokens = Tokens(accounts, KEY, ticks=clock.seconds)
    ann = accounts.create_user("ann", "expert")
    secrets = [tokens.issue_api(ann.id).secret for _ in range(4)]
    for secret in secrets:
        tokens.read("api", secret)
    assert [tokens.recall("api", secret) is not None for secret in secrets] == [False, False, False, True]


def test_a_link_is_spent_once_for_a_session(tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    link = tokens.issue_link(ann.id)
    spent = tokens.spend_link(link.secret)
    assert spent is not None
    session, grant = spent
    assert grant.user == ann
    again = tokens.read("session", session.secret)
    assert again is not None
    assert again.token.label == "link"
    assert tokens.spend_link(link.secret) is None
    assert tokens.spend_link("x" * 10**6) is None


def test_a_new_link_ends_those_before(tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    old, new = tokens.issue_link(ann.id), tokens.issue_link(ann.id)
    assert tokens.read("link", old.secret) is None
    assert tokens.read("link", new.secret) is not None


def test_proofs_differ_by_session_purpose_and_key(tokens: Tokens) -> None:
    proofs = {tokens.csrf("a"), tokens.csrf("b"), tokens.form_proof("a"), Tokens(tokens.accounts, bytes(32)).csrf("a")}
    assert len(proofs) == 4
    assert tokens.csrf("a") == tokens.csrf("a")
    assert tokens.form_fits("a", tokens.form_proof("a"))
    assert not tokens.form_fits("a", tokens.form_proof("b"))


@pytest.mark.parametrize("given", ["", "ab", "abd", "äbc", "\ud800"])
def test_texts_are_compared_whatever_they_hold(given: str) -> None:
    assert same_text("abc", "abc")
    assert not same_text("abc", given)


def test_the_first_start_gives_a_link_to_a_new_admin(tokens: Tokens, clock: Clock) -> None:
    first = first_link(tokens)
    assert first is not None
    issued, user = first
    assert (user.name, user.role, user.password) == ("admin", "admin", None)
    assert issued.token.expires_at == clock.now + timedelta(hours=24)
    assert tokens.read("link", issued.secret) is not None


def test_a_start_before_the_first_link_was_used_gives_another(tokens: Tokens) -> None:
    first, second = first_link(tokens), first_link(tokens)
    assert first is not None
    assert second is not None
    assert tokens.read("link", first[0].secret) is None
    assert tokens.spend_link(second[0].secret) is not None
    assert len(tokens.accounts.users()) == 1


def test_an_admin_who_came_in_once_and_chose_no_password_is_not_locked_out(tokens: Tokens, clock: Clock) -> None:
    first = first_link(tokens)
    assert first is not None
    assert tokens.spend_link(first[0].secret) is not None
    clock.pass_by(days=1)  # the session has ended, and the browser was closed
    again = first_link(tokens)
    assert again is not None
    assert again[1] == first[1]
    assert tokens.spend_link(again[0].secret) is not None


@pytest.mark.parametrize("who", ["first", "second", "nobody"])
def test_links_end_once_any_enabled_admin_has_a_password(tokens: Tokens, who: str) -> None:
    accounts: Accounts = tokens.accounts
    first, second = accounts.create_user("admin", "admin"), accounts.create_user("ann", "admin")
    tokens.issue_api(first.id)
    expert = accounts.create_user("ben", "expert")
    accounts.set_password({"first": first, "second": second}.get(who, expert).id, "hash")
    found = first_link(tokens)
    assert (found is None) == (who != "nobody")
    if who == "second":
        accounts.disable(second.id)
        assert first_link(tokens) is not None, "who is disabled cannot come in"


def test_experts_alone_do_not_keep_the_first_admin_out(tokens: Tokens) -> None:
    tokens.accounts.create_user("ann", "expert")
    first = first_link(tokens)
    assert first is not None
    assert (first[1].name, first[1].role) == ("admin", "admin")


def test_an_api_token_ends_no_later_than_it_may(tokens: Tokens, clock: Clock) -> None:
    user = tokens.accounts.create_user("ann", "expert")
    latest = clock.now + timedelta(days=2)
    for lifetime, end in ((None, latest), (timedelta(days=1), clock.now + timedelta(days=1)), (timedelta(9), latest)):
        assert tokens.issue_api(user.id, lifetime=lifetime, until=latest).token.expires_at == end
    assert tokens.issue_api(user.id).token.expires_at is None
