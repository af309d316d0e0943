"""Users and tokens on pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from quorate.storage.people import User
from tests.unit.service.visitors import House, Visitor, house


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as found:
        found.study()
        yield found


@pytest.fixture
def admin(place: House) -> Visitor:
    return place.visitor("root", "admin")


def named(place: House, name: str) -> User:
    found = place.hall.access.accounts.named(name)
    assert found is not None
    return found


def test_an_admin_invites_a_user_with_a_seat(place: House, admin: Visitor) -> None:
    answer = admin.post("/users", name="Ann", role="expert", seat="heart/ann")
    assert answer.status_code == 200
    link = re.search(r'value="http://testserver(/sign-in/[\w-]+)"', answer.text)
    assert link is not None
    assert "This link signs you in as <strong>ann</strong>" in place.client.get(link[1]).text
    seats = place.hall.access.accounts.seats(user_id=named(place, "ann").id)
    assert [(seat.study, seat.expert) for seat in seats] == [("heart", "ann")]


def test_what_is_refused_is_told_and_kept(place: House, admin: Visitor) -> None:
    answer = admin.post("/users", name="root", role="manager", seat="")
    assert answer.status_code == 409
    assert "there is already a user &#39;root&#39;" in answer.text
    assert 'value="root"' in answer.text
    assert admin.post("/users", name="zoe", role="king").status_code == 422
    assert admin.post("/users", name="zoe", role="expert", seat="heart").status_code == 404
    assert place.hall.access.accounts.named("zoe") is None


def test_the_last_admin_stays(place: House, admin: Visitor) -> None:
    answer = admin.post(f"/users/{named(place, 'root').id}/disable")
    assert answer.status_code == 409
    assert "last admin" in answer.text


def test_roles_seats_and_doors(place: House, admin: Visitor) -> None:
    place.visitor("zoe")
    number = named(place, "zoe").id
    assert admin.post(f"/users/{number}/role", role="manager").status_code == 303
    assert named(place, "zoe").role == "manager"
    assert admin.post(f"/users/{number}/give", seat="heart/ben").status_code == 303
    assert "Votes as <strong>ben</strong> in heart" in admin.page("/users")
    assert admin.post(f"/users/{number}/take", seat="heart/ben").status_code == 303
    assert admin.post(f"/users/{number}/take", seat="heart/ben").status_code == 404
    assert "/sign-in/" in admin.post(f"/users/{number}/link").text
    assert admin.post(f"/users/{number}/disable").status_code == 303
    assert named(place, "zoe").disabled
    assert admin.post(f"/users/{number}/link").status_code == 409
    assert admin.post(f"/users/{number}/enable").status_code == 303
    assert admin.post("/users/999/enable").status_code == 404


@pytest.mark.parametrize("role", ["manager", "expert"])
def test_others_manage_nobody(place: House, role: str) -> None:
    visitor = place.visitor("zoe", role)
    number = named(place, "zoe").id
    assert visitor.get("/users").status_code == 403
    assert visitor.post("/users", name="x", role="admin").status_code == 403
    assert visitor.post(f"/users/{number}/role", role="admin").status_code == 403
    assert visitor.post(f"/users/{number}/link").status_code == 403


def test_a_token_is_shown_once_works_and_is_ended(place: House) -> None:
    visitor = place.visitor("zoe", "manager")
    page = visitor.post("/account/tokens", label="nightly <b>", days="30").text
    secret = re.search(r'value="(quo_[\w-]+)"', page)
    assert secret is not None
    assert "nightly &lt;b&gt;" in page
    assert secret[1] not in visitor.page("/account/tokens")
    bearer = {"Authorization": f"Bearer {secret[1]}"}
    assert place.client.get("/api/studies", headers=bearer).status_code == 200
    (token,) = place.hall.access.accounts.tokens(user_id=named(place, "zoe").id, kinds=("api",))
    other = place.visitor("eve", "admin")
    assert other.post(f"/account/tokens/{token.id}/revoke").status_code == 404
    assert visitor.post(f"/account/tokens/{token.id}/revoke").status_code == 303
    assert place.client.get("/api/studies", headers=bearer).status_code == 401


@pytest.mark.parametrize("days", ["0", "-3", "many", "99999", "²"])
def test_odd_numbers_of_days_are_told(place: House, days: str) -> None:
    answer = place.visitor("zoe").post("/account/tokens", label="x", days=days)
    assert answer.status_code == 422
    assert "is no number of days; expected 1 to 3650" in answer.text
