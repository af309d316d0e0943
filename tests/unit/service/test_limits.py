from __future__ import annotations

import pytest

from quorate.service.limits import Buckets, SignInLimits, network


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_allows_a_burst_and_then_a_pace() -> None:
    buckets = Buckets(burst=3, every=10)
    for _ in range(3):
        assert buckets.wait("ann", 0) == 0
        buckets.take("ann", 0)
    assert buckets.wait("ann", 0) == 10
    assert buckets.wait("ann", 4) == 6
    assert buckets.wait("ann", 10) == 0
    buckets.take("ann", 10)
    assert buckets.wait("ann", 10) == 10
    assert buckets.wait("ben", 0) == 0


def test_a_bucket_fills_up_and_no_further() -> None:
    buckets = Buckets(burst=2, every=10)
    buckets.take("ann", 0)
    for _ in range(2):
        assert buckets.wait("ann", 1000) == 0
        buckets.take("ann", 1000)
    assert buckets.wait("ann", 1000) == 10


def test_memory_is_bounded_and_the_least_used_go_first() -> None:
    buckets = Buckets(burst=1, every=10, most=100)
    for number in range(1000):
        buckets.take(str(number), 0)
        buckets.take("ann", 0)
    assert len(buckets) == 100
    assert buckets.wait("ann", 0) > 0
    assert buckets.wait("0", 0) == 0


def test_a_name_is_limited_wherever_attempts_come_from() -> None:
    clock = Clock()
    limits = SignInLimits(clock=clock)
    waits = [limits.attempt("ann", f"192.0.2.{number}") for number in range(12)]
    assert waits[:10] == [0] * 10
    assert waits[10:] == [30, 30]  # a refused attempt makes the wait no longer
    clock.now += 30
    assert limits.attempt("ann", "192.0.2.99") == 0
    assert limits.attempt("ben", "192.0.2.1") == 0


def test_an_address_is_limited_whatever_the_names() -> None:
    limits = SignInLimits(clock=Clock())
    waits = [limits.attempt(f"user {number}", "192.0.2.1") for number in range(51)]
    assert waits[:50] == [0] * 50
    assert waits[50] == pytest.approx(6)
    assert limits.attempt("user 50", "192.0.2.2") == 0


def test_attempts_that_succeed_do_not_count() -> None:
    limits = SignInLimits(clock=Clock())
    for _ in range(500):
        assert limits.attempt("ann", "192.0.2.1") == 0
        limits.succeeded("ann", "192.0.2.1")


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("", ""),
        ("x" * 1000, "x" * 64),
    ],
)
def test_one_client_has_one_network(address: str, seen: str) -> None:
    assert network(address) == seen
