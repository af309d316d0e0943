"""What accounts must do in every database, where several programs write at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from quorate.errors import AccountError
from quorate.storage import studies
from quorate.storage.accounts import Accounts
from quorate.storage.database import Database
from quorate.storage.people import Seat
from tests.contracts.databases import DatabaseFixtures
from tests.contracts.happenings import COUNTING

LATER = datetime.now(UTC) + timedelta(hours=1)


class AccountsContract(DatabaseFixtures):
    """Users, seats and tokens."""

    @pytest.fixture
    def accounts(self, db: Database) -> Accounts:
        return Accounts(db)

    def test_a_token_opens_for_its_user_until_it_is_revoked(self, accounts: Accounts) -> None:
        expert = studies.create(accounts.db, "cxr", COUNTING).study.panel.experts[0]
        ann = accounts.create_user("ann", "expert", password="hash")
        accounts.give_seat(ann.id, "cxr", expert)
        accounts.give_seat(ann.id, "cxr", expert)
        token = accounts.add_token(ann.id, "api", "digest", expires_at=LATER)
        grant = accounts.grant("api", "digest")
        assert grant is not None
        assert (grant.token, grant.user, grant.seats) == (token, ann, (Seat(ann.id, "cxr", expert),))
        accounts.revoke(token.id)
        assert accounts.grant("api", "digest") is None
        assert accounts.purge(datetime.now(UTC) + timedelta(seconds=1)) == 1

    def test_a_name_is_taken_once(self, accounts: Accounts) -> None:
        accounts.create_user("ann", "expert")
        with pytest.raises(AccountError, match="already a user"):
            accounts.create_user("ann", "expert")
        accounts.create_user("ben", "expert")

    def test_two_admins_cannot_leave_at_once(self, accounts: Accounts, url: str) -> None:
        for turn in range(5):
            users = [accounts.create_user(f"{name} {turn}", "admin") for name in ("ann", "ben")]
            for other in accounts.users():
                if other.id not in {user.id for user in users} and not other.disabled:
                    accounts.disable(other.id)
            gate = Barrier(2)

            def leave(user_id: int, gate: Barrier = gate) -> bool:
                with Database.open(url) as own:
                    gate.wait()
                    try:
                        Accounts(own).disable(user_id)
                    except AccountError:
                        return False
                    return True

            with ThreadPoolExecutor(2) as pool:
                assert sorted(pool.map(leave, [user.id for user in users])) == [False, True]

    def test_a_link_is_spent_once_by_many_at_a_time(self, accounts: Accounts, url: str) -> None:
        ann = accounts.create_user("ann", "expert")
        accounts.add_token(ann.id, "link", "link", expires_at=LATER)
        gate = Barrier(4)

        def spend(number: int) -> bool:
            with Database.open(url) as own:
                gate.wait()
                return Accounts(own).spend_link("link", f"{number}", label="link", expires_at=LATER) is not None

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(spend, range(4))) == 1
        assert len(accounts.tokens(kinds=("session",))) == 1

    def test_a_seat_given_by_many_at_a_time_is_given_once(self, accounts: Accounts, url: str) -> None:
        expert = studies.create(accounts.db, "cxr", COUNTING).study.panel.experts[0]
        ann = accounts.create_user("ann", "expert")
        gate = Barrier(4)

        def give(_: int) -> None:
            with Database.open(url) as own:
                gate.wait()
                Accounts(own).give_seat(ann.id, "cxr", expert)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(give, range(4)))
        assert len(accounts.seats()) == 1
