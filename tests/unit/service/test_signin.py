from __future__ import annotations

from dataclasses import replace
from http.cookies import Morsel, SimpleCookie
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from quorate.service.access import SESSION_COOKIE, Access
from quorate.service.passwords import Passwords
from quorate.service.signin import FORM_COOKIE
from quorate.service.tokens import Tokens
from quorate.storage.accounts import Accounts
from quorate.storage.people import User
from tests.unit.service.conftest import PASSWORD, csrf_in, small_app

if TYPE_CHECKING:
    from tests.unit.service.conftest import Clock

NEW = "another long password"


@pytest.fixture
def ann(accounts: Accounts, passwords: Passwords) -> User:
    return accounts.create_user("ann", "manager", password=passwords.hash(PASSWORD))


def post(client: TestClient, *, password: str = PASSWORD, name: str = "ann", **more: str) -> Any:
    """Fill in the form as a browser would."""
    csrf = csrf_in(client.get("/sign-in").text)
    return client.post("/sign-in", data={"csrf": csrf, "name": name, "password": password, **more})


def cookie(answer: Any, name: str = SESSION_COOKIE) -> Morsel[str]:
    jar: SimpleCookie = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        jar.load(line)
    return jar[name]


@pytest.mark.usefixtures("ann")
def test_name_and_password_begin_a_session(client: TestClient) -> None:
    done = post(client, name=" Ann ", next="/studies/cxr")
    assert (done.status_code, done.headers["location"]) == (303, "/studies/cxr")
    assert client.get("/api/me").json()["name"] == "ann"
    assert client.get("/sign-in?next=/page").headers["location"] == "/page"  # signed in already


@pytest.mark.usefixtures("ann")
def test_the_session_cookie_is_out_of_reach(client: TestClient) -> None:
    session = cookie(post(client))
    assert session["httponly"] is True
    assert session["samesite"] == "lax"
    assert session["path"] == "/"
    assert session["max-age"] == "43200"
    assert session["secure"] == ""
    assert session["domain"] == ""


@pytest.mark.usefixtures("ann")
def test_cookies_are_secure_where_the_service_is(access: Access) -> None:
    app = small_app(replace(access, base_url="https://testserver"))
    with TestClient(app, base_url="https://testserver", follow_redirects=False) as client:
        form = cookie(client.get("/sign-in"), FORM_COOKIE)
        assert (form["secure"], form["httponly"], form["samesite"]) == (True, True, "strict")
        assert cookie(post(client))["secure"] is True


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize(
    ("name", "password"), [("ann", "wrong password"), ("nobody", PASSWORD), ("ann", ""), ("a/b", PASSWORD), ("", "")]
)
def test_whoever_is_wrong_hears_the_same(client: TestClient, name: str, password: str) -> None:
    refused = post(client, name=name, password=password)
    assert refused.status_code == 401
    assert '<p role="alert" id="problem" class="problem">Name or password is wrong.</p>' in refused.text
    assert SESSION_COOKIE not in client.cookies
    if password:
        assert password not in refused.text


def test_neither_the_disabled_nor_those_without_a_password_come_in(
    client: TestClient, accounts: Accounts, ann: User
) -> None:
    accounts.create_user("root", "admin")
    assert post(client, name="root").status_code == 401
    accounts.disable(ann.id)
    assert post(client).status_code == 401


@pytest.mark.usefixtures("ann")
def test_attempts_are_limited_by_name_and_the_wait_is_said(client: TestClient, clock: Clock) -> None:
    for _ in range(10):
        assert post(client, password="wrong password").status_code == 401
    refused = post(client)
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "30"
    assert "Too many attempts. Try again in 30 seconds." in refused.text
    assert post(client, name="ANN").status_code == 429  # the same name
    clock.pass_by(seconds=30)
    assert post(client).status_code == 303


@pytest.mark.usefixtures("ann")
def test_a_form_of_another_site_signs_nobody_in(client: TestClient) -> None:
    csrf = csrf_in(client.get("/sign-in").text)
    credentials = {"name": "ann", "password": PASSWORD}
    nonce = client.cookies[FORM_COOKIE]
    for data in (credentials, credentials | {"csrf": "wrong"}):
        assert client.post("/sign-in", data=data).status_code == 403
    client.cookies.delete(FORM_COOKIE)
    refused = client.post("/sign-in", data=credentials | {"csrf": csrf})
    assert refused.status_code == 403
    assert "The page was too old" in refused.text
    assert SESSION_COOKIE not in client.cookies
    client.cookies.set(FORM_COOKIE, nonce)
    assert client.post("/sign-in", data=credentials | {"csrf": csrf}).status_code == 303


@pytest.mark.usefixtures("ann")
def test_after_signing_in_nobody_is_sent_elsewhere(client: TestClient) -> None:
    assert post(client, next="//evil.example").headers["location"] == "/"


def test_what_was_typed_is_escaped(client: TestClient) -> None:
    refused = post(client, name='"><script>alert(1)</script>', next='/"><script>')
    assert "<script>" not in refused.text


@pytest.mark.usefixtures("ann")
def test_a_program_signs_in_by_json_and_gets_its_proof(client: TestClient) -> None:
    done = client.post("/sign-in", json={"name": "ann", "password": PASSWORD})
    assert done.status_code == 200
    assert (done.json()["name"], done.json()["role"]) == ("ann", "manager")
    assert client.post("/api/change").status_code == 403
    assert client.post("/api/change", headers={"X-CSRF-Token": done.json()["csrf"]}).status_code == 200


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"name": "ann", "password": "wrong password"}', 401),
        ('{"name": "ann", "password": "\\ud800"}', 401),
        ('{"name": "\\ud800", "password": "wrong password"}', 401),
        ('{"name": "ann"}', 422),
        ('{"name": "ann", "password": 1}', 422),
        ("[]", 422),
        ("{", 422),
        ("\xff", 422),
    ],
)
def test_json_that_signs_nobody_in(client: TestClient, body: str, status: int) -> None:
    refused = client.post("/sign-in", content=body.encode("latin-1"), headers={"Content-Type": "application/json"})
    assert refused.status_code == status
    assert set(refused.json()["error"]) == {"code", "message", "field"}
    assert SESSION_COOKIE not in client.cookies


def test_an_outdated_hash_is_made_anew_on_signing_in(client: TestClient, accounts: Accounts, ann: User) -> None:
    old = Passwords(time_cost=2, memory_kib=64).hash(PASSWORD)
    accounts.set_password(ann.id, old)
    assert post(client).status_code == 303
    new = accounts.user(ann.id).password
    assert new is not None
    assert "t=1" in new
    assert post(TestClient(client.app, follow_redirects=False)).status_code == 303


@pytest.mark.usefixtures("ann")
def test_signing_in_again_ends_the_session_before(client: TestClient) -> None:
    post(client)
    before = client.cookies[SESSION_COOKIE]
    client.post("/sign-in", json={"name": "ann", "password": PASSWORD})
    assert client.cookies[SESSION_COOKIE] != before
    client.cookies.set(SESSION_COOKIE, before)
    client.cookies.delete(SESSION_COOKIE)
    client.cookies.set(SESSION_COOKIE, before)
    assert client.get("/api/me").status_code == 401


@pytest.mark.usefixtures("ann")
def test_signing_out_ends_the_session_everywhere(client: TestClient) -> None:
    csrf = client.post("/sign-in", json={"name": "ann", "password": PASSWORD}).json()["csrf"]
    secret = client.cookies[SESSION_COOKIE]
    assert client.post("/sign-out").status_code == 403
    done = client.post("/sign-out", data={"csrf": csrf})
    assert (done.status_code, done.headers["location"]) == (303, "/sign-in")
    assert SESSION_COOKIE not in client.cookies
    client.cookies.set(SESSION_COOKIE, secret)
    assert client.get("/api/me").status_code == 401
    assert client.post("/sign-out").status_code == 303  # a stranger has nothing to end


def test_a_link_waits_for_its_button_and_works_once(client: TestClient, tokens: Tokens) -> None:
    ben = tokens.accounts.create_user("ben", "expert")
    path = f"/sign-in/{tokens.issue_link(ben.id).secret}"
    for _ in range(3):  # programs that look at links look, and nothing happens
        page = client.get(path)
        assert page.status_code == 200
    client.head(path)
    assert "<strong>ben</strong>" in page.text
    csrf = csrf_in(page.text)
    done = client.post(path, data={"csrf": csrf})
    assert (done.status_code, done.headers["location"]) == (303, "/account")  # there is no password yet
    assert client.get("/api/me").json()["name"] == "ben"
    assert cookie(done)["httponly"] is True
    other = TestClient(client.app, follow_redirects=False)
    for again in (other.get(path), other.post(path, data={"csrf": csrf_in(other.get("/sign-in").text)})):
        assert again.status_code == 410
        assert "This link was used already, or it has expired." in again.text
    assert SESSION_COOKIE not in other.cookies


def test_a_link_of_somebody_with_a_password_leads_to_the_front_page(
    client: TestClient, tokens: Tokens, ann: User
) -> None:
    path = f"/sign-in/{tokens.issue_link(ann.id).secret}"
    done = client.post(path, data={"csrf": csrf_in(client.get(path).text)})
    assert done.headers["location"] == "/"


def test_another_site_cannot_press_the_button(client: TestClient, tokens: Tokens, ann: User) -> None:
    path = f"/sign-in/{tokens.issue_link(ann.id).secret}"
    refused = client.post(path, data={"csrf": "wrong"})
    assert refused.status_code == 403
    assert SESSION_COOKIE not in client.cookies
    assert (
        client.post(path, data={"csrf": csrf_in(refused.text)}).status_code == 303
    )  # the page lets a person try again


def test_a_link_expires(client: TestClient, tokens: Tokens, ann: User, clock: Clock) -> None:
    path = f"/sign-in/{tokens.issue_link(ann.id).secret}"
    csrf = csrf_in(client.get(path).text)
    clock.pass_by(minutes=15)
    assert client.get(path).status_code == 410
    assert client.post(path, data={"csrf": csrf}).status_code == 410


def by_link(client: TestClient, tokens: Tokens, user: User) -> None:
    path = f"/sign-in/{tokens.issue_link(user.id).secret}"
    client.post(path, data={"csrf": csrf_in(client.get(path).text)})


def save(client: TestClient, **fields: str) -> Any:
    return client.post("/account", data={"csrf": csrf_in(client.get("/account").text), **fields})


def test_who_came_by_link_chooses_a_password(client: TestClient, tokens: Tokens, passwords: Passwords) -> None:
    ben = tokens.accounts.create_user("ben", "expert")
    by_link(client, tokens, ben)
    page = client.get("/account")
    assert "Choose a password" in page.text
    assert 'name="current"' not in page.text
    done = save(client, password=NEW, repeat=NEW)
    assert done.headers["location"] == "/account?saved=true"
    assert "Your password is set." in client.get("/account?saved=true").text
    assert passwords.verify(tokens.accounts.user(ben.id).password, NEW)
    assert post(TestClient(client.app, follow_redirects=False), name="ben", password=NEW).status_code == 303


def test_a_forgotten_password_is_replaced_by_way_of_a_link(client: TestClient, tokens: Tokens, ann: User) -> None:
    by_link(client, tokens, ann)
    assert save(client, password=NEW, repeat=NEW).status_code == 303


def test_a_password_is_changed_with_the_one_before(
    client: TestClient, accounts: Accounts, passwords: Passwords, ann: User
) -> None:
    other = TestClient(client.app, follow_redirects=False)
    post(client)
    post(other)
    refused = save(client, password=NEW, repeat=NEW, current="wrong password")
    assert refused.status_code == 403
    assert "The current password is wrong." in refused.text
    assert save(client, password=NEW, repeat=NEW).status_code == 403
    assert passwords.verify(accounts.user(ann.id).password, PASSWORD)
    assert save(client, password=NEW, repeat=NEW, current=PASSWORD).status_code == 303
    assert passwords.verify(accounts.user(ann.id).password, NEW)
    assert client.get("/api/me").status_code == 200
    assert other.get("/api/me").status_code == 401  # other sessions have ended


@pytest.mark.parametrize(
    ("password", "repeat", "said"),
    [("short", "short", "10 to 200 characters"), ("x" * 201, "x" * 201, "10 to 200"), (NEW, NEW + "!", "differ")],
)
def test_bad_passwords_are_refused_in_words(
    client: TestClient, tokens: Tokens, ann: User, password: str, repeat: str, said: str
) -> None:
    by_link(client, tokens, ann)
    refused = save(client, password=password, repeat=repeat)
    assert refused.status_code == 422
    assert said in refused.text
    assert f'value="{password}"' not in refused.text


@pytest.mark.usefixtures("ann")
def test_the_current_password_cannot_be_guessed_at_length(client: TestClient) -> None:
    post(client)
    answers = [save(client, password=NEW, repeat=NEW, current=f"wrong guess {n}").status_code for n in range(11)]
    assert answers == [403] * 10 + [429]


def test_the_account_is_for_its_user_and_its_session(client: TestClient, tokens: Tokens, ann: User) -> None:
    assert client.get("/account").headers["location"] == "/sign-in?next=%2Faccount"
    header = {"Authorization": f"Bearer {tokens.issue_api(ann.id).secret}"}
    refused = client.post("/account", data={"password": NEW, "repeat": NEW}, headers=header)
    assert refused.status_code == 403
    post(client)
    assert client.post("/account", data={"password": NEW, "repeat": NEW, "current": PASSWORD}).status_code == 403


@pytest.mark.parametrize("body", ["[" * 100_000, "1" * 5_000, '{"name": ' + "1" * 5_000 + "}"])
def test_a_body_that_no_reader_can_take_in_is_refused(client: TestClient, body: str) -> None:
    refused = client.post("/sign-in", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
    assert "the body is no JSON" in refused.json()["error"]["message"]
