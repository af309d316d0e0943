from __future__ import annotations

import time

import pytest

from quorate.errors import InputError
from quorate.service.passwords import Passwords

GOOD = "correct horse battery"


def test_a_password_fits_its_own_hash_alone(passwords: Passwords) -> None:
    stored = passwords.hash(GOOD)
    assert stored.startswith("$argon2id$")
    assert GOOD not in stored
    assert passwords.verify(stored, GOOD)
    assert not passwords.verify(stored, GOOD + "!")
    assert passwords.hash(GOOD) != stored  # salted


def test_nobody_fits_no_hash_and_a_broken_hash(passwords: Passwords) -> None:
    for stored in (None, "", "$argon2id$broken", "plain"):
        assert not passwords.verify(stored, GOOD)


@pytest.mark.parametrize("password", ["", "123456789", "x" * 201, "x" * 10**6])
def test_lengths_are_bounded_and_the_message_says_so(passwords: Passwords, password: str) -> None:
    with pytest.raises(InputError, match="expected 10 to 200 characters") as refused:
        passwords.hash(password)
    assert "123456789" not in str(refused.value)
    assert not passwords.verify(passwords.hash(GOOD), password)


def test_the_ends_of_the_range_are_in_it(passwords: Passwords) -> None:
    for password in ("1234567890", "x" * 200, "ä" * 200):
        assert passwords.verify(passwords.hash(password), password)


def test_half_a_character_is_refused(passwords: Passwords) -> None:
    with pytest.raises(InputError, match="half a character"):
        passwords.hash("\ud800" * 12)
    assert not passwords.verify(passwords.hash(GOOD), "\ud800" * 12)


def test_one_letter_typed_in_two_ways_is_one_letter(passwords: Passwords) -> None:
    assert passwords.verify(passwords.hash("schlüssel-bund"), "schlu\u0308ssel-bund")


def test_hashes_of_other_parameters_still_fit_and_are_outdated(passwords: Passwords) -> None:
    other = Passwords(time_cost=2, memory_kib=64)
    stored = passwords.hash(GOOD)
    assert other.verify(stored, GOOD)
    assert other.outdated(stored)
    assert not passwords.outdated(stored)


def test_the_usual_parameters_are_those_of_the_standard() -> None:
    stored = Passwords().hash(GOOD)
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=1$")


def test_an_unknown_user_costs_as_much_as_a_known_one() -> None:
    slow = Passwords(time_cost=8, memory_kib=8 * 1024)
    stored = slow.hash(GOOD)

    def seconds(stored: str | None, password: str) -> float:
        tries = []
        for _ in range(5):
            start = time.perf_counter()
            slow.verify(stored, password)
            tries.append(time.perf_counter() - start)
        return min(tries)

    known = seconds(stored, "wrong horse battery")
    for other in (seconds(None, GOOD), seconds(stored, "short"), seconds("$argon2id$broken", GOOD)):
        assert 0.3 * known < other < 3 * known
