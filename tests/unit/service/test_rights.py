from __future__ import annotations

import pytest

from quorate.service.rights import (
    RIGHTS,
    Identity,
    Right,
    Role,
    entered,
    may,
    may_change_vote,
    may_enter,
    may_manage_token,
    may_see_inbox,
    may_set_away,
    may_vote,
)

SEAT = {"cxr": frozenset({"ben"})}


def somebody(role: Role, seats: dict[str, frozenset[str]] | None = None) -> Identity:
    return Identity(7, "ann", role, seats or {}, "api", 1)


TABLE = {  # right: (expert, manager, admin)
    Right.SEE_STUDIES: (False, True, True),
    Right.CREATE_STUDIES: (False, True, True),
    Right.DELETE_STUDIES: (False, True, True),
    Right.CHANGE_PANELS: (False, True, True),
    Right.OPEN_CASES: (False, True, True),
    Right.SEE_FORECASTS: (False, True, True),
    Right.REOPEN_CASES: (False, True, True),
    Right.EXPIRE_QUERIES: (False, True, True),
    Right.IMPORT_VOTES: (False, True, True),
    Right.EXPORT_CASES: (False, True, True),
    Right.SEE_METRICS: (False, True, True),
    Right.MANAGE_USERS: (False, False, True),
}


def test_every_right_is_in_the_table() -> None:
    assert set(TABLE) == set(Right) == set(RIGHTS)


@pytest.mark.parametrize(("right", "allowed"), TABLE.items())
def test_roles_have_their_rights_with_or_without_a_seat(right: Right, allowed: tuple[bool, ...]) -> None:
    for seats in ({}, SEAT):
        assert tuple(may(somebody(role, seats), right) for role in Role) == allowed


def test_roles_are_ordered() -> None:
    assert [[a.covers(b) for b in Role] for a in Role] == [[True, False, False], [True, True, False], [True] * 3]


@pytest.mark.parametrize(
    ("role", "seats", "own", "other_expert", "other_study"),
    [  # may one cast the vote of ben in cxr, of cho in cxr, of ben in ct, on a case that was asked
        (Role.EXPERT, {}, False, False, False),
        (Role.EXPERT, SEAT, True, False, False),
        (Role.MANAGER, {}, False, False, False),
        (Role.MANAGER, SEAT, True, False, False),
        (Role.ADMIN, {}, True, True, True),
    ],
)
def test_who_votes_as_whom(
    role: Role, seats: dict[str, frozenset[str]], own: bool, other_expert: bool, other_study: bool
) -> None:
    who = somebody(role, seats)
    assert may_vote(who, "cxr", "ben", asked=True) is own
    assert may_vote(who, "cxr", "cho", asked=True) is other_expert
    assert may_vote(who, "ct", "ben", asked=True) is other_study


@pytest.mark.parametrize("asked", [False, True])
def test_a_seat_votes_where_it_was_asked(asked: bool) -> None:
    assert may_vote(somebody(Role.EXPERT, SEAT), "cxr", "ben", asked=asked) is asked
    assert may_vote(somebody(Role.ADMIN), "cxr", "ben", asked=asked)


@pytest.mark.parametrize("rule", [may_change_vote, may_set_away, may_see_inbox])
def test_votes_inboxes_and_absences_belong_to_the_expert_and_to_managers(rule: object) -> None:
    assert callable(rule)
    expert = somebody(Role.EXPERT, SEAT)
    assert rule(expert, "cxr", "ben")
    assert not rule(expert, "cxr", "cho")
    assert not rule(expert, "ct", "ben")
    assert rule(somebody(Role.MANAGER), "cxr", "cho")
    assert rule(somebody(Role.ADMIN), "cxr", "cho")


def test_an_expert_knows_only_of_studies_with_a_seat() -> None:
    expert = somebody(Role.EXPERT, SEAT)
    assert may_enter(expert, "cxr")
    assert not may_enter(expert, "ct")
    assert entered(expert, ["ct", "cxr"]) == ["cxr"]
    assert entered(somebody(Role.MANAGER), ["ct", "cxr"]) == ["ct", "cxr"]


def test_tokens_belong_to_their_user_and_to_admins() -> None:
    assert [may_manage_token(somebody(role), 7) for role in Role] == [True, True, True]
    assert [may_manage_token(somebody(role), 8) for role in Role] == [False, False, True]


def test_an_identity_does_not_show_its_proof() -> None:
    assert "s3cret" not in repr(Identity(7, "ann", Role.EXPERT, {}, "session", 1, "s3cret"))


def test_who_has_no_seat_acts_for_another() -> None:
    manager = somebody(Role.MANAGER, SEAT)
    assert manager.instead_of("cxr", "ben") is None
    assert manager.instead_of("cxr", "cho") == "ann"
    assert manager.instead_of("mri", "ben") == "ann"
